#include "hemiola/runtime/communicator/turn.hpp"

#include <chrono>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

constexpr auto kGlance = std::chrono::milliseconds(5);

}  // namespace

Turn::Held Turn::take(const std::function<void()>& check) {
  const auto self = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  HEMIOLA_CHECK(holder_ != self, "a thread waits for its own turn to end");
  while (holder_ != std::thread::id()) {
    if (ended_.wait_for(lock, kGlance) == std::cv_status::no_timeout || !check) continue;
    lock.unlock();
    check();
    lock.lock();
  }
  holder_ = self;
  return Held(this);
}

bool Turn::is_mine() const {
  const std::lock_guard lock(mutex_);
  return holder_ == std::this_thread::get_id();
}

void Turn::end() {
  {
    const std::lock_guard lock(mutex_);
    holder_ = {};
  }
  ended_.notify_one();
}

}  // namespace hemiola
