// SPDX-License-Identifier: Apache-2.0
// A rank's own time between two operations of a communicator: the time in no operation of any communicator.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace hemiola {

class OwnTime {
 public:
  /// `in_operations_ns`: of all communicators of this rank together; outlives this.
  explicit OwnTime(std::atomic<std::int64_t>* in_operations_ns) : in_operations_ns_(in_operations_ns) {}

  /// Returns the own time since this rank left the operation before; -1 where there was none.
  std::int64_t enter(std::int64_t now_ns) {
    entered_ns_ = now_ns;
    if (!has_left_) return -1;
    const std::int64_t elsewhere_ns =
        in_operations_ns_->load(std::memory_order_relaxed) - in_operations_when_left_ns_;
    return std::max<std::int64_t>(0, now_ns - left_ns_ - elsewhere_ns);
  }

  void leave(std::int64_t now_ns) {
    const std::int64_t spent_ns = now_ns - entered_ns_;
    in_operations_when_left_ns_ =
        in_operations_ns_->fetch_add(spent_ns, std::memory_order_relaxed) + spent_ns;
    left_ns_ = now_ns;
    has_left_ = true;
  }

 private:
  std::atomic<std::int64_t>* in_operations_ns_;
  std::int64_t entered_ns_ = 0;
  std::int64_t left_ns_ = 0;
  std::int64_t in_operations_when_left_ns_ = 0;
  bool has_left_ = false;
};

}  // namespace hemiola
