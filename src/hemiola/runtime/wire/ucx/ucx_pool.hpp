// SPDX-License-Identifier: Apache-2.0
// Things that stay where they are while UCX knows their addresses; used again, so that nothing is allocated once there are
// enough.
#pragma once

#include <deque>
#include <vector>

namespace hemiola {

template <typename T>
class UcxPool {
 public:
  T* take() {
    if (free_.empty()) return &all_.emplace_back();
    T* const one = free_.back();
    free_.pop_back();
    return one;
  }
  void give_back(T* one) { free_.push_back(one); }

 private:
  std::deque<T> all_;
  std::vector<T*> free_;
};

}  // namespace hemiola
