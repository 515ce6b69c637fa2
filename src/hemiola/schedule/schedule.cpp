// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/schedule.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"
#include "hemiola/base/rounding.hpp"

namespace hemiola {

std::int64_t exchange_size(const Collective& collective, std::int64_t size) {
  std::int64_t all = size;
  if (collective.kind() == CollectiveKind::all_to_all &&
      __builtin_mul_overflow(size, std::int64_t{collective.rank_count()}, &all))
    throw ArgumentError("all_to_all: " + std::to_string(size) + " bytes of each of " +
                        std::to_string(collective.rank_count()) + " ranks are more than 64 bits count");
  return all;
}

void refuse_scratch(const Schedule& schedule, const char* what) {
  if (schedule.scratch_count() > 0)
    throw ArgumentError(std::string(what) + ": expected a schedule without scratch slots, found one with " +
                        std::to_string(schedule.scratch_count()) + " for each chunk");
}

std::vector<std::int64_t> chunk_begins(const Schedule& schedule, std::int64_t size) {
  return chunk_begins(schedule.chunk_count(), schedule.chunk_weights(), size);
}

std::vector<std::int64_t> chunk_begins(std::int64_t chunk_count, std::span<const std::int64_t> weights,
                                       std::int64_t size) {
  const auto count = static_cast<std::size_t>(chunk_count);
  std::int64_t total = static_cast<std::int64_t>(count);
  if (!weights.empty()) {
    total = 0;
    for (std::int64_t w : weights) total += w;
  }
  std::vector<std::int64_t> begin;
  begin.reserve(count + 1);
  std::int64_t prefix = 0;
  for_heedful_blocks(count, [&](std::size_t from, std::size_t to) {
    for (std::size_t c = from; c < to; ++c) {
      begin.push_back(share_of(size, prefix, total));
      prefix += weights.empty() ? 1 : weights[c];
    }
  });
  begin.push_back(size);
  return begin;
}

namespace {

void check_pairs(const std::vector<RankPair>& pairs, int rank_count) {
  for (std::size_t p = 0; p < pairs.size(); ++p)
    HEMIOLA_CHECK(pairs[p].src >= 0 && pairs[p].src < rank_count && pairs[p].dst >= 0 &&
                      pairs[p].dst < rank_count && pairs[p].src != pairs[p].dst && pairs[p].src_slot == 0 &&
                      pairs[p].dst_slot == 0 && (p == 0 || pairs[p - 1] < pairs[p]),
                  "pairs of a schedule's columns must be sorted pairs of different ranks, without scratch");
}

void check_canonical(const Schedule::Columns& columns, const Collective& collective) {
  const auto& [offset, link, chunk, reduce_words, pairs] = columns;
  HEMIOLA_CHECK(!offset.empty() && offset.front() == 0 && std::is_sorted(offset.begin(), offset.end()) &&
                    offset.back() == static_cast<std::int64_t>(link.size()) && link.size() == chunk.size() &&
                    reduce_words.size() == (link.size() + 63) / 64,
                "columns of a schedule must be of one length");
  check_pairs(pairs, collective.rank_count());
  std::vector<bool> used(pairs.size(), false);
  for (std::size_t i = 0; i < link.size(); ++i) {
    HEMIOLA_CHECK(link[i] < pairs.size() && chunk[i] < static_cast<std::uint32_t>(collective.chunk_count()),
                  "a transfer must name a pair and a chunk that exist");
    used[link[i]] = true;
  }
  HEMIOLA_CHECK(std::find(used.begin(), used.end(), false) == used.end(), "pairs of a schedule must be used");
  const auto order = [&](std::size_t i) {
    return std::tuple(link[i], chunk[i], reduce_words[i / 64] >> (i % 64) & 1);
  };
  for (std::size_t t = 0; t + 1 < offset.size(); ++t)
    for (auto i = static_cast<std::size_t>(offset[t]) + 1; i < static_cast<std::size_t>(offset[t + 1]); ++i)
      HEMIOLA_CHECK(order(i - 1) <= order(i), "transfers of a step must be sorted by pair, chunk and reduce");
}

}  // namespace

Schedule Schedule::from_columns(Collective collective, Columns columns) {
  check_canonical(columns, collective);
  Schedule s(std::move(collective));
  s.step_offset_ = std::move(columns.step_offset);
  s.link_ = std::move(columns.link);
  s.chunk_ = std::move(columns.chunk);
  s.reduce_ = std::move(columns.reduce_words);
  s.pairs_ = std::move(columns.pairs);
  s.digest_ = s.compute_digest();
  return s;
}

Hash128 Schedule::compute_digest() const {
  Hasher hasher;
  const auto& c = collective_;
  for (int word : {static_cast<int>(c.kind()), c.rank_count(), c.chunk_count(), static_cast<int>(c.root()),
                   c.is_reducing() ? 1 : 0})
    hasher.add(static_cast<std::uint64_t>(word));
  hasher.add_array(std::span(c.owner()));
  for (const auto* places : {&c.before(), &c.after()}) {
    hasher.add(places->size());
    for (const auto& [rank, chunk] : *places)
      hasher.add(static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(chunk));
  }
  hasher.add_array(std::span(chunk_weights_));
  hasher.add_array(step_offset());
  std::vector<std::int32_t> ranks, slots;
  ranks.reserve(2 * pairs_.size());
  for_heedful_blocks(pairs_.size(), [&](std::size_t begin, std::size_t end) {
    for (const RankPair& pair : std::span(pairs_).subspan(begin, end - begin)) {
      ranks.insert(ranks.end(), {pair.src, pair.dst});
      if (scratch_count_ > 0) slots.insert(slots.end(), {pair.src_slot, pair.dst_slot});
    }
  });
  hasher.add_array(std::span<const std::int32_t>(ranks));
  if (scratch_count_ > 0) hasher.add_array(std::span<const std::int32_t>(slots));
  hasher.add_array(link());
  hasher.add_array(chunk());
  hasher.add_array(reduce_words());
  return hasher.finish();
}

}  // namespace hemiola
