// A moment after which waiting is over, and the pauses in between for those who poll.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace hemiola {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// More than a century counts as a century, so that no caller's infinity overflows the clock.
  explicit Deadline(double seconds)
      : at_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(std::clamp(seconds, 0.0, 3e9)))) {}

  bool passed() const { return Clock::now() >= at_; }
  double seconds_left() const {
    return std::max(0.0, std::chrono::duration<double>(at_ - Clock::now()).count());
  }
  /// For poll(): rounded up, so that the last poll does not spin, and never longer than `most`.
  int milliseconds_left(int most) const {
    return static_cast<int>(std::min(seconds_left() * 1e3 + 1.0, double(most)));
  }

 private:
  Clock::time_point at_;
};

/// Waits a little longer each time: first a yield, in the end a millisecond.
class Pause {
 public:
  void wait() {
    if (++count_ <= kYields) {
      sched_yield();
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(20 * (count_ - kYields), 1000)));
  }

 private:
  static constexpr int kYields = 100;
  int count_ = 0;
};

}  // namespace hemiola
