// One thread at a time, as a mutex has it, for waits that last as long as an operation: whoever waits looks now and then
// at whether it should, and a thread whose turn it is can be told so instead of waiting for itself.
#pragma once

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
  bool is_mine() const;

 private:
  void end();

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::thread::id holder_;  ///< of no thread: nobody's
};

}  // namespace hemiola
