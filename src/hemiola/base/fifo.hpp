// SPDX-License-Identifier: Apache-2.0
// A queue that allocates only while it is longer than ever before.
#pragma once

#include <cstddef>
#include <vector>

namespace hemiola {

template <typename T>
class Fifo {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  /// The i-th from the front.
  T& operator[](std::size_t i) { return slots_[(first_ + i) & (slots_.size() - 1)]; }
  T& front() { return slots_[first_]; }
  const T& front() const { return slots_[first_]; }
  T& back() { return slots_[(first_ + count_ - 1) & (slots_.size() - 1)]; }

  void push(const T& value) {
    if (count_ == slots_.size()) grow();
    slots_[(first_ + count_++) & (slots_.size() - 1)] = value;
  }
  void pop() {
    first_ = (first_ + 1) & (slots_.size() - 1);
    --count_;
  }
  void clear() { first_ = count_ = 0; }

 private:
  /// Doubles, so that the length stays a power of two.
  void grow() {
    std::vector<T> wider(slots_.empty() ? 4 : 2 * slots_.size());
    for (std::size_t i = 0; i < count_; ++i) wider[i] = slots_[(first_ + i) & (slots_.size() - 1)];
    slots_.swap(wider);
    first_ = 0;
  }

  std::vector<T> slots_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace hemiola
