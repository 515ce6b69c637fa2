// SPDX-License-Identifier: Apache-2.0
// Numbers for the slots that a schedule touches.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "hemiola/base/heedful.hpp"
#include "hemiola/base/huge_pages.hpp"
#include "hemiola/schedule/schedule.hpp"
#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

/// In the order of first use, so that slots which transfers touch one after the other lie side by side.
class SlotNumbers {
 public:
  explicit SlotNumbers(const Schedule& schedule)
      : chunk_count_(static_cast<std::uint64_t>(schedule.chunk_count())),
        rank_count_(static_cast<std::uint64_t>(schedule.rank_count())) {
    const std::uint64_t places =
        chunk_count_ * rank_count_ * (static_cast<std::uint64_t>(schedule.scratch_count()) + 1);
    const auto touched = 2 * static_cast<std::uint64_t>(schedule.transfer_count());
    if (places <= 4 * touched && places < kNoTransfer)
      heedful_resize(&of_place_, places, kNoTransfer);
    else
      heedful_resize(&table_, std::bit_ceil(2 * touched + 1));
  }

  /// Of a chunk's slot on a rank; 0 is the buffer's.
  std::uint32_t of(Rank rank, std::int32_t slot, Chunk chunk) {
    if (of_place_.empty()) return find_or_add(place(rank, slot, chunk));
    std::uint32_t& number = of_place_[place(rank, slot, chunk)];
    if (number == kNoTransfer) number = count_++;
    return number;
  }
  /// Fetches the memory that `of` will read.
  void prefetch(Rank rank, std::int32_t slot, Chunk chunk) const {
    if (!of_place_.empty()) __builtin_prefetch(&of_place_[place(rank, slot, chunk)]);
  }
  std::size_t count() const { return count_; }

 private:
  struct Entry {
    std::uint64_t place = 0;
    std::uint32_t number = kNoTransfer;
  };

  std::uint64_t place(Rank rank, std::int32_t slot, Chunk chunk) const {
    return (static_cast<std::uint64_t>(slot) * rank_count_ + static_cast<std::uint64_t>(rank)) *
               chunk_count_ +
           static_cast<std::uint64_t>(chunk);
  }

  std::uint32_t find_or_add(std::uint64_t place) {
    std::size_t at = (place * 0x9e3779b97f4a7c15ull >> 20) & (table_.size() - 1);
    while (table_[at].number != kNoTransfer && table_[at].place != place) at = (at + 1) & (table_.size() - 1);
    if (table_[at].number == kNoTransfer) table_[at] = {place, count_++};
    return table_[at].number;
  }

  std::uint64_t chunk_count_;
  std::uint64_t rank_count_;
  std::uint32_t count_ = 0;
  LargeVector<std::uint32_t> of_place_;  ///< by slot, rank and chunk, where most are touched
  std::vector<Entry> table_;             ///< elsewhere
};

}  // namespace hemiola::simulation
