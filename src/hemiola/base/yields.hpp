// SPDX-License-Identifier: Apache-2.0
// Letting others have the core, as long as they give it back.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "hemiola/base/core_use.hpp"

namespace hemiola {

/// Calls of sched_yield by one rank. A waiting process also gives the core back within microseconds, and so
/// does one that has little to do. A working process keeps it for a slice of milliseconds. By then the
/// message has long come, and its sender may have given its core away. So every message between ranks that
/// have busy neighbours takes a slice. A sleeping rank instead is woken when the message comes, and runs at
/// once, since it has had less than its share.
class Yields {
 public:
  using Clock = std::chrono::steady_clock;

  /// Longer ones were given to somebody who works.
  static constexpr std::chrono::microseconds kLong{1000};
  /// So many waits that ended with long ones, and next to nothing in between, are no accident: ranks that share cores work in
  /// turn, but not so long.
  static constexpr int kInARow = 8;
  /// Then there are none in waits that take so many times as long together as the last one: the working
  /// process may soon be done.
  static constexpr int kTimesLonger = 4;
  /// When they are tried again so many are enough, and there are none for so many times as long as before;
  static constexpr int kInARowAgain = 2;
  static constexpr int kGrowth = 16;
  /// unless waits that took so long together have ended with none of these.
  static constexpr std::chrono::milliseconds kProof{8};
  /// At most so many times as long as trying takes, which is the inverse of its share of the time.
  static constexpr int kTimesWithout = 64;

  /// Whether waits are to go without.
  bool cost_slices() const { return without_left_ > Clock::duration::zero(); }
  /// Whether they do elsewhere: then one that is long is enough.
  void suspect(bool elsewhere) { are_suspected_ = elsewhere; }
  /// Where ranks share cores, and their clocks can be read: long ones in which ranks have had the cores for themselves do not
  /// count. Null: elsewhere.
  void share(const CoreUseMeter* meter) { meter_ = meter; }

  /// Asked before each.
  bool pay(Clock::time_point now) {
    if (wait_begin_ == Clock::time_point{}) wait_begin_ = now;
    return !cost_slices();
  }
  void yield(Clock::time_point now) {
    sched_yield();
    note(now, Clock::now());
  }
  void note(Clock::time_point begin, Clock::time_point end) {
    last_ = end - begin;
    if (last_ < kLong) return;
    if (begin - last_end_ > last_) in_a_row_ = 0;
    last_end_ = end;
  }
  /// The message did not come while others had the core.
  void sleep() { last_ = {}; }

  /// The message has come.
  void end_wait() {
    if (wait_begin_ != Clock::time_point{}) end_wait(Clock::now());
  }
  void end_wait(Clock::time_point now) {
    const auto taken = now - std::exchange(wait_begin_, {});
    const auto last = std::exchange(last_, {});
    if (cost_slices())
      go_without(taken, now);
    else if (last >= kLong)
      count(last);
    else if (paid_ += taken; paid_ >= kProof)
      without_ = {};
  }

 private:
  /// A wait's last yield counts, during which the message came. A longer wait is one for another rank's work,
  /// such as before a barrier, and loses nothing.
  void count(Clock::duration last) {
    paid_ = {};
    if (in_a_row_++ == 0) {
      row_begin_ = last_end_ - last;
      use_before_ = read_meter();
    }
    const bool again = without_ > Clock::duration::zero(), are_known = again || are_suspected_;
    if (in_a_row_ < (are_suspected_ ? 1 : again ? kInARowAgain : kInARow)) return;
    const std::optional<CoreUse> use = read_meter();
    const std::optional<bool> to_strangers = were_to_strangers(use);
    if (!to_strangers && !are_known) return;
    in_a_row_ = 0;
    if (!to_strangers.value_or(true)) return forget();
    const auto row = last_end_ - row_begin_;
    without_ = again ? std::min(kGrowth * without_, kTimesWithout * row) : kTimesLonger * last;
    without_left_ = without_;
    use_before_ = use;
  }

  void go_without(Clock::duration taken, Clock::time_point now) {
    without_left_ -= taken;
    if (!use_before_ || now - use_before_->at < CoreUseMeter::kShortest) return;
    const std::optional<CoreUse> use = read_meter();
    if (!were_to_strangers(use).value_or(true)) return forget();
    use_before_ = use;
  }

  void forget() { without_ = without_left_ = {}; }

  std::optional<CoreUse> read_meter() const { return meter_ != nullptr ? meter_->read() : std::nullopt; }
  /// Whether strangers have had the cores from `use_before_` to the meter's reading now; nothing while that
  /// is too short to tell. True where it cannot be told at all.
  std::optional<bool> were_to_strangers(const std::optional<CoreUse>& use) const {
    if (!use || !use_before_ || use->processes != use_before_->processes) return true;
    if (use->at - use_before_->at < CoreUseMeter::kShortest) return {};
    return !CoreUseMeter::were_ours(*use_before_, *use);
  }

  Clock::time_point wait_begin_{};
  Clock::duration last_{};  ///< of this wait
  Clock::time_point row_begin_{}, last_end_{};
  int in_a_row_ = 0;
  bool are_suspected_ = false;
  const CoreUseMeter* meter_ = nullptr;
  std::optional<CoreUse> use_before_;  ///< where the row began, or the pause or its last look
  Clock::duration without_{};          ///< how long waits went without at last; 0 where they have paid since
  Clock::duration without_left_{};     ///< how long they are still to
  Clock::duration paid_{};             ///< how long waits have taken since the last long one
};

}  // namespace hemiola
