// SPDX-License-Identifier: Apache-2.0
// Whether looking for zeros is worth a core's time, found out for one operation and rank. A wrong guess costs time
// only, since a message names its own encoding.
#pragma once

#include <cstddef>

namespace hemiola {

class CodingAttempts {
 public:
  /// An operation begins that brings these elements. Looks at 64 cache lines of them; where next to none of their elements
  /// is zero, nothing is attempted.
  void begin(const std::byte* elements, std::size_t bytes, std::size_t element_bytes);

  /// Whether to try the next slice. After a failure some are left out, twice as many after each further one.
  bool next() {
    if (left_out_ == 0) return !is_dense_;
    --left_out_;
    return false;
  }
  void note(bool success) {
    pause_ = success ? 0 : pause_ < kLongestPause ? 2 * pause_ + 1 : kLongestPause;
    left_out_ = pause_;
  }

  /// A coded slice is sent where it takes at most so much of the plain one, since decoding takes the rest of the gain.
  static constexpr double kMostShare = 0.97;

 private:
  static constexpr int kLongestPause = 15;

  bool is_dense_ = false;
  int pause_ = 0;
  int left_out_ = 0;
};

}  // namespace hemiola
