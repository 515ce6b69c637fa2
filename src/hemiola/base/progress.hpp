// SPDX-License-Identifier: Apache-2.0
// How much of a long call is behind. Work that takes long says of which parts it consists and which of them begins; a
// part may have parts of its own. A hook for the thread (interrupt.hpp) reads there how far it is.
#pragma once

#include <algorithm>

namespace hemiola {

namespace progress {
/// Shares of the whole call: the finished one, and the size of the part at hand.
inline thread_local double behind = 0, part = 1;
}  // namespace progress

/// A call of its own while it lives, of which nothing is behind.
class ProgressScope {
 public:
  ProgressScope() : behind_(progress::behind), part_(progress::part) {
    progress::behind = 0;
    progress::part = 1;
  }
  ~ProgressScope() {
    progress::behind = behind_;
    progress::part = part_;
  }
  ProgressScope(const ProgressScope&) = delete;
  ProgressScope& operator=(const ProgressScope&) = delete;

 private:
  double behind_, part_;
};

/// The parts of the part at hand, one after the other.
class Parts {
 public:
  /// `total`: the sum of the parts' weights, or more.
  explicit Parts(double total)
      : begin_(progress::behind), whole_(progress::part), unit_(whole_ / std::max(total, 1.0)) {}
  ~Parts() {
    progress::behind = begin_ + whole_;
    progress::part = whole_;
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  /// The next part begins: the ones before are behind.
  void next(double weight = 1) {
    progress::behind = begin_ + unit_ * done_;
    progress::part = unit_ * weight;
    done_ += weight;
  }
  /// A part has been done whose weight shows only now.
  void did(double weight) {
    done_ += weight;
    progress::behind = begin_ + unit_ * done_;
  }

 private:
  double begin_, whole_, unit_, done_ = 0;
};

}  // namespace hemiola
