// Numbers for the slots that a schedule touches.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

/// By position where most are touched, else in order of first use.
class SlotNumbers {
 public:
  explicit SlotNumbers(const Schedule& schedule)
      : chunk_count_(static_cast<std::uint64_t>(schedule.chunk_count())),
        count_(chunk_count_ * static_cast<std::uint64_t>(schedule.rank_count())) {
    const auto touched = 2 * static_cast<std::uint64_t>(schedule.transfer_count());
    if (count_ <= 4 * touched && count_ < kNoTransfer) return;
    table_.assign(std::bit_ceil(2 * touched + 1), Entry{});
    count_ = 0;
  }

  std::uint32_t of(Rank rank, Chunk chunk) {
    const std::uint64_t place =
        static_cast<std::uint64_t>(rank) * chunk_count_ + static_cast<std::uint64_t>(chunk);
    return table_.empty() ? static_cast<std::uint32_t>(place) : find_or_add(place);
  }
  std::size_t count() const { return count_; }

 private:
  struct Entry {
    std::uint64_t place = 0;
    std::uint32_t number = kNoTransfer;
  };

  std::uint32_t find_or_add(std::uint64_t place) {
    std::size_t at = (place * 0x9e3779b97f4a7c15ull >> 20) & (table_.size() - 1);
    while (table_[at].number != kNoTransfer && table_[at].place != place) at = (at + 1) & (table_.size() - 1);
    if (table_[at].number == kNoTransfer) table_[at] = {place, static_cast<std::uint32_t>(count_++)};
    return table_[at].number;
  }

  std::uint64_t chunk_count_;
  std::uint64_t count_;
  std::vector<Entry> table_;
};

}  // namespace hemiola::simulation
