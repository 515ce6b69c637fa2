// SPDX-License-Identifier: Apache-2.0
// Which rank keeps coming last to all-reduces of a size, alone, or that another one does each time, and how late: for whom
// schedules are worth planning.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/adaptation/learner.hpp"
#include "hemiola/runtime/adaptation/size_bucket.hpp"

namespace hemiola {

/// The predicted times of schedules planned for one late rank, and for none.
struct LateOutlook {
  double plain_s = 0;   ///< where nobody is late, or no schedule is planned for it; above 0
  double delay_s = 0;   ///< for which the other schedule is planned
  double finish_s = 0;  ///< its time from the late rank's arrival on; `plain_s` if it is no better

  bool saves() const { return finish_s < plain_s; }
  /// The share of `plain_s` that it saves, if its late rank comes `lag_s` >= 0 after all others; negative if it costs,
  /// since the others wait for the rest of the planned delay. At least -1, so that no operation counts for much more
  /// than others.
  double gain(double lag_s) const {
    return std::max(-1.0, 1 - (std::max(0.0, delay_s - lag_s) + finish_s) / plain_s);
  }
};

/// By size, to the next power of two.
class LateHabits final : public Learner {
 public:
  static constexpr std::size_t kOperations = 8;  ///< looked at
  static constexpr int kMostQuarters = 4;        ///< the others' work meanwhile takes no longer

  /// Outlooks are of messages that carry all: nobody is expected as long as they leave zeros out.
  bool note(const Note& note) override {
    if (note.outlook == nullptr || note.arrivals == nullptr) return false;
    const std::int64_t bytes = note.signature.byte_count();
    const LateRank before = expected(bytes);
    const bool paid = pays(bytes);
    const LastArrival last = note.sends_all ? note.arrivals->latest_last() : LastArrival{};
    this->note(bytes, last.rank, static_cast<double>(last.lag_ns) * 1e-9, *note.outlook);
    return expected(bytes) != before || pays(bytes) != paid;
  }
  void find(const Signature& call, Findings* found) const override {
    if (call.kind != OperationKind::all_reduce || call.sparse == SparseMode::yes) return;
    found->late = expected(call.byte_count());
    found->late_saves = pays(call.byte_count());
  }

  LateRank expected(std::int64_t bytes) const {
    return unpacked(habits_[size_bucket(bytes)].expected.load());
  }
  /// Whether the schedule planned for it is expected to save time.
  bool pays(std::int64_t bytes) const { return expected(bytes) && habits_[size_bucket(bytes)].saves; }

  /// An operation to which `last` came `lag_s` after all others. `outlook`: of the rank that was expected in it. A rank
  /// is expected once it was last in all recent operations, by a quarter or more, and by the least of these lags; if it
  /// was not always the same one, any is. None is expected any longer once the schedules would have saved nothing.
  void note(std::int64_t bytes, Rank last, double lag_s, const LateOutlook& outlook) {
    Habit& h = habits_[size_bucket(bytes)];
    h.rows[h.count++ % kOperations] = {last, lag_s / outlook.plain_s};
    const LateRank before = unpacked(h.expected.load());
    if (before) h.saves = outlook.saves();
    if (h.count < kOperations) return;
    if (const LateRank now = steady(h)) {
      if (now != before) h.saves = true;
      h.expected = packed(now);
    } else if (before && mean_gain(h, before, outlook) <= 0) {
      h.expected = 0;
    }
  }

 private:
  struct Row {
    Rank last{0};
    double lag = 0;  ///< as a share of the time without
  };
  struct Habit {
    std::array<Row, kOperations> rows{};
    std::uint64_t count = 0;
    std::atomic<bool> saves = false;
    std::atomic<std::uint64_t> expected = 0;  ///< packed
  };
  static constexpr std::uint64_t kMoves = 1 << 7;
  static std::uint64_t packed(const LateRank& late) {
    return static_cast<std::uint64_t>(late.rank) << 8 | (late.moves ? kMoves : 0) |
           static_cast<std::uint64_t>(late.quarters);
  }
  static LateRank unpacked(std::uint64_t word) {
    return {Rank{static_cast<int>(word >> 8)}, static_cast<int>(word & (kMoves - 1)), (word & kMoves) != 0};
  }

  static LateRank steady(const Habit& habit) {
    const Rank rank = habit.rows.front().last;
    bool moves = false;
    double least = kMostQuarters;
    for (const Row& row : habit.rows) {
      moves = moves || row.last != rank;
      least = std::min(least, 4 * row.lag);
    }
    if (least < 1) return {};
    const auto quarters = static_cast<int>(std::bit_floor(static_cast<unsigned>(least)));
    return {moves ? Rank{0} : rank, quarters, moves};
  }

  static double mean_gain(const Habit& habit, const LateRank& late, const LateOutlook& outlook) {
    double sum = 0;
    for (const Row& row : habit.rows) {
      const bool is_it = late.moves || row.last == late.rank;
      sum += outlook.gain(is_it ? row.lag * outlook.plain_s : 0);
    }
    return sum / kOperations;
  }

  std::array<Habit, kSizeBuckets> habits_{};
};

}  // namespace hemiola
