// Letting others have the core, as long as they give it back.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>

namespace hemiola {

/// Calls of sched_yield by one rank. Who waits, too, gives the core back within microseconds, and so does who has little to
/// do. Who works keeps it for a slice of milliseconds, after which what was waited for has long come, and whoever sent it may
/// have given its core away meanwhile: then every message between ranks that have busy neighbours takes a slice. Who sleeps
/// instead is woken when the message comes, and runs at once, since it has had less than its share.
class Yields {
 public:
  using Clock = std::chrono::steady_clock;

  /// Longer ones were given to somebody who works.
  static constexpr std::chrono::microseconds kLong{1000};
  /// Shorter ones were given to nobody.
  static constexpr std::chrono::microseconds kShort{3};
  /// So many long ones with next to nothing in between are no accident: ranks that share cores work in turn, but not so long.
  /// After these there is none for as long as they took, so that a moment in which the others worked is soon forgotten.
  static constexpr int kInARow = 8;
  /// So many are enough when yields are tried again, and then there is none for twice as long as before.
  static constexpr int kInARowAgain = 2;
  /// At most so many times as long as trying took, which is the inverse of its share of the time.
  static constexpr int kTimesWithout = 64;

  bool pay(Clock::time_point now) const { return now >= next_; }
  void yield(Clock::time_point now) {
    sched_yield();
    note(now, Clock::now());
  }
  void note(Clock::time_point begin, Clock::time_point end) {
    last_ = end - begin;
    if (last_ < kLong) return;
    if (begin - last_end_ > last_) in_a_row_ = 0;
    if (in_a_row_++ == 0) row_begin_ = begin;
    last_end_ = end;
    const bool have_paid = row_begin_ - next_ > without_;
    if (in_a_row_ < (have_paid ? kInARow : kInARowAgain)) return;
    const auto row = end - row_begin_;
    without_ = have_paid ? row : std::min(2 * without_, kTimesWithout * row);
    next_ = end + without_;
    in_a_row_ = 0;
  }
  /// Whether the last one let somebody run who soon gave the core back, as one does who waits, too.
  bool let_a_waiter_run() const { return last_ >= kShort && last_ < kLong; }

 private:
  Clock::duration last_{};
  Clock::time_point row_begin_{}, last_end_{};
  int in_a_row_ = 0;
  Clock::time_point next_{};   ///< when to try again
  Clock::duration without_{};  ///< how long there was none until then
};

}  // namespace hemiola
