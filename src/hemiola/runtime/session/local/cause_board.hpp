// SPDX-License-Identifier: Apache-2.0
// Ranks that share memory write here why they give up, for others to read once they find them gone. The board also
// keeps the time at which each was first found gone, so that all put the ends of ranks in one order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hemiola/runtime/session/cause.hpp"

namespace hemiola {

/// Lies in shared memory; zero-filled is its initial state.
class CauseBoard {
 public:
  /// Nothing takes back the rank's reason.
  void tell(Rank rank, const std::optional<Cause>& cause) {
    if (rank >= kMostRanks) return;
    Cell& cell = cells_[static_cast<std::size_t>(rank)];
    const std::uint64_t count = cell.told.load(std::memory_order_relaxed);
    Slot& slot = cell.slots[count % kSlots];
    slot.holds = cause.has_value() ? 1 : 0;
    if (cause) slot.record = CauseRecord::of(*cause);
    cell.told.store(count + 1, std::memory_order_release);
  }

  /// When any rank first found the rank gone; `now_ns` if none has.
  std::int64_t found_gone_ns(Rank rank, std::int64_t now_ns) {
    if (rank >= kMostRanks) return now_ns;
    std::int64_t at_ns = 0;
    const bool is_first =
        cells_[static_cast<std::size_t>(rank)].found_gone_ns.compare_exchange_strong(at_ns, now_ns);
    return is_first ? now_ns : at_ns;
  }

  std::optional<Cause> told_by(Rank rank) const {
    if (rank >= kMostRanks) return std::nullopt;
    const Cell& cell = cells_[static_cast<std::size_t>(rank)];
    const std::uint64_t count = cell.told.load(std::memory_order_acquire);
    if (count == 0) return std::nullopt;
    const Slot& slot = cell.slots[(count - 1) % kSlots];
    if (slot.holds == 0) return std::nullopt;
    return slot.record.cause();
  }

 private:
  /// hemiola.launch starts no more; ranks beyond are found gone without a reason.
  static constexpr int kMostRanks = 1024;
  /// The next reason but one overwrites the text that is being read. Readers look only at ranks that are gone.
  static constexpr std::uint64_t kSlots = 2;
  struct Slot {
    std::uint64_t holds;
    CauseRecord record;
  };
  struct Cell {
    std::atomic<std::uint64_t> told;          ///< how often
    std::atomic<std::int64_t> found_gone_ns;  ///< 0: not yet
    std::array<Slot, kSlots> slots;
  };
  std::array<Cell, kMostRanks> cells_;
};

}  // namespace hemiola
