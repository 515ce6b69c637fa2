// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/communicator/background.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/short_waits.hpp"

namespace hemiola {
namespace {

constexpr auto kInterruptGlance =
    std::chrono::milliseconds(20);  ///< a waiting thread looks so often for an interrupt

}  // namespace

struct Background::Queue {
  Run run;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<PendingOperation>> operations;
  std::atomic<int> unfinished =
      0;  ///< of these, and of the one taken out, until its callback has been called
  std::thread::id runner;

  std::shared_ptr<PendingOperation> take() {
    const std::lock_guard lock(mutex);
    if (operations.empty()) return nullptr;
    const auto next = std::move(operations.front());
    operations.pop_front();
    return next;
  }

  void finish(PendingOperation* operation, const std::exception_ptr& error) {
    const auto thens = operation->finish(error);
    {
      const std::lock_guard lock(mutex);
      runner = std::this_thread::get_id();
    }
    for (const auto& then : thens) then();
    {
      const std::lock_guard lock(mutex);
      runner = {};
      unfinished.fetch_sub(1, std::memory_order_release);
    }
    changed.notify_all();
  }

  bool step() {
    const std::shared_ptr<PendingOperation> next = take();
    if (!next) return false;
    std::exception_ptr error;
    try {
      run(next.get());
    } catch (...) {
      error = std::current_exception();
    }
    finish(next.get(), error);
    return true;
  }
};

Background::Background(ProgressThreads* threads, Run run)
    : queue_(std::make_shared<Queue>()), task_(threads, [queue = queue_] { return queue->step(); }) {
  queue_->run = std::move(run);
}

void Background::start(const std::shared_ptr<PendingOperation>& operation) {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->operations.push_back(operation);
    queue_->unfinished.fetch_add(1, std::memory_order_relaxed);
  }
  try {
    task_.wake();
  } catch (...) {
    const std::lock_guard lock(queue_->mutex);
    if (std::erase(queue_->operations, operation) == 0) return;  // another start has had it run
    queue_->unfinished.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
}

void Background::await_all(const std::function<void()>& interrupted) const {
  if (queue_->unfinished.load(std::memory_order_acquire) == 0) return;
  KeptThroughShortWaits::end();
  std::unique_lock lock(queue_->mutex);
  if (queue_->runner == std::this_thread::get_id()) {
    if (queue_->unfinished.load(std::memory_order_relaxed) == 1) return;  // the one that this follows
    throw ArgumentError(
        "a callback of an operation in the background cannot wait here: its thread has yet to run operations "
        "that were "
        "started before this call. Start this one in the background, too");
  }
  const Callers::OneWaits waits(callers_.get());
  while (queue_->unfinished.load(std::memory_order_relaxed) > 0) {
    if (queue_->changed.wait_for(lock, kInterruptGlance) == std::cv_status::no_timeout) continue;
    lock.unlock();
    interrupted();
    lock.lock();
  }
}

void Background::end(const std::exception_ptr& error) {
  task_.end();
  while (const auto left = queue_->take()) queue_->finish(left.get(), error);
}

}  // namespace hemiola
