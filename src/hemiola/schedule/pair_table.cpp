// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/pair_table.hpp"

#include <algorithm>
#include <numeric>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"

namespace hemiola {

int scratch_count_of(std::span<const RankPair> pairs) {
  int most = 0;
  for (const RankPair& pair : pairs) most = std::max({most, pair.src_slot, pair.dst_slot});
  return most;
}

std::vector<std::uint32_t> first_of_same_ranks(std::span<const RankPair> pairs) {
  std::vector<std::uint32_t> first(pairs.size());
  std::iota(first.begin(), first.end(), 0u);
  if (scratch_count_of(pairs) == 0) return first;
  PairTable ranks;
  std::vector<std::uint32_t> first_of;
  for (std::uint32_t p = 0; p < pairs.size(); ++p) {
    const std::uint32_t number = ranks.number_of({pairs[p].src, pairs[p].dst});
    if (number == first_of.size()) first_of.push_back(p);
    first[p] = first_of[number];
  }
  return first;
}

/// Where the pair is, or the free slot where it belongs.
std::size_t PairTable::slot_of(RankPair pair) const {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(pair.src) << 32 | static_cast<std::uint32_t>(pair.dst)) +
      (static_cast<std::uint64_t>(pair.src_slot) << 48) + (static_cast<std::uint64_t>(pair.dst_slot) << 24);
  std::size_t slot = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ull) >> shift_);
  while (slots_[slot] != kFree && pairs_[slots_[slot]] != pair) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void PairTable::grow() {
  constexpr std::size_t kFirst = 64;
  const std::size_t size = slots_.empty() ? kFirst : 2 * slots_.size();
  shift_ = 64;
  for (std::size_t s = 1; s < size; s *= 2) --shift_;
  heedful_reserve(&pairs_, size / 2);
  slots_.clear();
  heedful_resize(&slots_, size, kFree);
  for_heedful_blocks(pairs_.size(), [this](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) slots_[slot_of(pairs_[i])] = static_cast<std::uint32_t>(i);
  });
}

std::uint32_t PairTable::number_of(RankPair pair) {
  if (2 * pairs_.size() >= slots_.size()) grow();
  const std::size_t slot = slot_of(pair);
  if (slots_[slot] != kFree) return slots_[slot];
  constexpr std::size_t kMaxPairs = std::size_t{1} << 31;
  if (pairs_.size() >= kMaxPairs)
    throw ArgumentError("schedule: expected at most 2^31 different pairs of ranks");
  slots_[slot] = static_cast<std::uint32_t>(pairs_.size());
  pairs_.push_back(pair);
  return slots_[slot];
}

}  // namespace hemiola
