// SPDX-License-Identifier: Apache-2.0
// A moment after which waiting is over, and the pauses in between for those who poll.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace hemiola {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws where there is nothing to wait for any more: an interrupt, somebody who will not come.
  using Check = std::function<void()>;

  /// More than a century counts as a century, so that no caller's infinity overflows the clock.
  explicit Deadline(double seconds, Check check = {})
      : seconds_(seconds),
        check_(std::move(check)),
        at_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(std::clamp(seconds, 0.0, 3e9)))) {}

  /// As given, for messages.
  double seconds() const { return seconds_; }

  bool passed() const { return Clock::now() >= at_; }
  double seconds_left() const {
    return std::max(0.0, std::chrono::duration<double>(at_ - Clock::now()).count());
  }
  /// For poll(): rounded up, so that the last poll does not spin, and never longer than `most`, or than checks may wait.
  int milliseconds_left(int most) const {
    return static_cast<int>(
        std::min(seconds_left() * 1e3 + 1.0, double(check_ ? std::min(most, kCheck_ms) : most)));
  }
  /// A waiting loop calls it as often as it looks: it throws the check's exception, and asks the check now
  /// and then.
  void check() const {
    if (!check_ || Clock::now() < next_check_) return;
    next_check_ = Clock::now() + std::chrono::milliseconds(kCheck_ms);
    check_();
  }

 private:
  static constexpr int kCheck_ms = 5;

  double seconds_;
  Check check_;
  mutable Clock::time_point next_check_{};
  Clock::time_point at_;
};

/// Waits a little longer each time: first a yield, in the end a millisecond, or less where less is said.
class Pause {
 public:
  static constexpr int kYields = 100;

  /// `yields` before it sleeps: each may cost a time slice of another process that wants the core.
  explicit Pause(int longest_us = 1000, int yields = kYields) : longest_us_(longest_us), yields_(yields) {}

  void wait() {
    if (++count_ <= yields_) {
      sched_yield();
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(20 * (count_ - yields_), longest_us_)));
  }

 private:
  int longest_us_;
  int yields_;
  int count_ = 0;
};

}  // namespace hemiola
