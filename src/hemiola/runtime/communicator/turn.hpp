// SPDX-License-Identifier: Apache-2.0
// One thread at a time, as a mutex has it, for waits that last as long as an operation. A waiting thread checks now and
// then whether it should go on, and a thread whose turn it is can be told so instead of waiting for itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hemiola {

class Turn {
 public:
  /// Has the turn for as long as it lives.
  class Held {
   public:
    explicit Held(Turn* turn) : turn_(turn) {}
    ~Held() { turn_->end(); }
    Held(const Held&) = delete;

   private:
    Turn* turn_;
  };

  /// Waits for it; not for a thread that has it. `check` is called now and then and throws to stop waiting.
  [[nodiscard]] Held take(const std::function<void()>& check = {});
  /// Whether the calling thread has it.
  bool is_mine() const { return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

 private:
  bool try_take();
  void end();

  /// Of no thread: nobody's. A thread that sets it to its own, or back, needs no lock. A waiting thread is counted
  /// before it looks again, and the end of a turn looks at that count afterwards.
  std::atomic<std::thread::id> holder_;
  std::atomic<int> waiting_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
};

}  // namespace hemiola
