// SPDX-License-Identifier: Apache-2.0
// Counts events, so that an interrupt is heard, and landings: reports to a watcher, and makes sure that in
// the end everything has landed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"

namespace hemiola::simulation {

class ProgressMeter {
 public:
  ProgressMeter(std::int64_t total, const std::function<void(std::int64_t, std::int64_t)>& progress)
      : total_(total), progress_(progress) {}

  /// Call it for every event, and for each of the flows that one event changes.
  void count_event() {
    if ((++events_ & (kEvents - 1)) == 0) [[unlikely]]
      heed();
  }

  void count_landing() {
    if ((++landed_ & (kInterval - 1)) == 0 && progress_) [[unlikely]]
      progress_(landed_, total_);
  }

  void check_complete() const {
    HEMIOLA_CHECK(landed_ == total_, "simulate: " + std::to_string(total_ - landed_) + " of " +
                                         std::to_string(total_) + " transfers never landed");
  }

 private:
  static constexpr std::int64_t kInterval = 1 << 15;

  static constexpr std::int64_t kEvents = 1 << 10;

  /// Out of the way of the loops, which are to stay small.
  [[gnu::noinline, gnu::cold]] static void heed() {
    constexpr std::int64_t kOperations = 16;  // of an event, or more
    heed_interrupt(kEvents * kOperations);
  }

  std::int64_t total_;
  std::int64_t events_ = 0;
  std::int64_t landed_ = 0;
  const std::function<void(std::int64_t, std::int64_t)>& progress_;
};

}  // namespace hemiola::simulation
