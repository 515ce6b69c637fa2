// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/communicator/turn.hpp"

#include <chrono>

#include "hemiola/base/error.hpp"
#include "hemiola/base/short_waits.hpp"

namespace hemiola {
namespace {

constexpr auto kTurnGlance = std::chrono::milliseconds(5);

}  // namespace

Turn::Held Turn::take(const std::function<void()>& check) {
  HEMIOLA_CHECK(!is_mine(), "a thread waits for its own turn to end");
  if (try_take()) [[likely]]
    return Held(this);
  KeptThroughShortWaits::end();
  struct Counted {
    explicit Counted(std::atomic<int>* count) : count_(count) { count_->fetch_add(1); }
    ~Counted() { count_->fetch_sub(1); }
    std::atomic<int>* count_;
  };
  const Counted counted(&waiting_);
  std::unique_lock lock(mutex_);
  while (!try_take()) {
    if (ended_.wait_for(lock, kTurnGlance) == std::cv_status::no_timeout || !check) continue;
    lock.unlock();
    check();
    lock.lock();
  }
  return Held(this);
}

bool Turn::try_take() {
  std::thread::id nobody;
  return holder_.compare_exchange_strong(nobody, std::this_thread::get_id());
}

void Turn::end() {
  holder_.store({});
  if (waiting_.load() == 0) [[likely]]
    return;
  const std::lock_guard lock(mutex_);  // a waiting thread has looked, and sleeps, or will look
  ended_.notify_one();
}

}  // namespace hemiola
