// SPDX-License-Identifier: Apache-2.0
// The callers that have started operations in the background and wait for one of them now. While none waits, callers
// work, and the core is theirs.
#pragma once

#include <atomic>

namespace hemiola {

class Callers {
 public:
  /// One that waits, for as long as this lives.
  class OneWaits {
   public:
    explicit OneWaits(Callers* of) : of_(of) { of_->waiting_.fetch_add(1, std::memory_order_relaxed); }
    ~OneWaits() { of_->waiting_.fetch_sub(1, std::memory_order_relaxed); }
    OneWaits(const OneWaits&) = delete;

   private:
    Callers* of_;
  };

  bool any_waits() const { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  std::atomic<int> waiting_ = 0;
};

}  // namespace hemiola
