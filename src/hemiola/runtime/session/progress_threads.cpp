// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/progress_threads.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "hemiola/base/started_thread.hpp"

namespace hemiola {

/// Both the threads and their starter hold it; the last holder frees it.
struct ProgressThreads::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  std::size_t resting = 0;
  bool is_over = false;

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      ++resting;
      changed.wait(lock, [this] { return is_over || !waiting.empty(); });
      --resting;
      if (waiting.empty()) return;
      const std::function<void()> work = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }
};

ProgressThreads::ProgressThreads() : shared_(std::make_shared<Shared>()) {}

ProgressThreads::~ProgressThreads() {
  if (!home_
           .is_here()) {  // the threads are in another process, and may have held the lock when this one was forked
    new std::shared_ptr<Shared>(std::move(shared_));
    new std::vector<std::thread>(std::move(threads_));
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_over = true;
    shared_->changed.notify_all();
  }
  const auto self = std::this_thread::get_id();
  for (std::thread& thread : threads_)
    if (thread.get_id() != self)
      thread.join();
    else
      thread.detach();
}

int ProgressThreads::count() const {
  const std::lock_guard lock(shared_->mutex);
  return static_cast<int>(threads_.size());
}

int ProgressThreads::resting() const {
  const std::lock_guard lock(shared_->mutex);
  return static_cast<int>(shared_->resting);
}

void ProgressThreads::run(std::function<void()> work) {
  const std::lock_guard lock(shared_->mutex);
  shared_->waiting.push_back(std::move(work));
  if (shared_->waiting.size() <= shared_->resting) {
    shared_->changed.notify_one();
    return;
  }
  try {
    threads_.push_back(
        started_thread("operations in the background", [shared = shared_] { shared->serve(); }));
  } catch (...) {
    shared_->waiting.pop_back();
    throw;
  }
}

struct ProgressTask::Shared {
  Step step;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_woken = false;  ///< since its latest step began
  bool is_running = false;
  bool is_over = false;
  std::thread::id runner;

  void run() {
    std::unique_lock lock(mutex);
    runner = std::this_thread::get_id();
    for (bool has_more = true; !is_over && (has_more || is_woken);) {
      is_woken = false;
      lock.unlock();
      has_more = step();
      lock.lock();
    }
    is_running = false;
    runner = {};
    changed.notify_all();
  }
};

ProgressTask::ProgressTask(ProgressThreads* threads, Step step)
    : threads_(threads), shared_(std::make_shared<Shared>()) {
  shared_->step = std::move(step);
}

void ProgressTask::wake() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_woken = true;
  if (shared_->is_running || shared_->is_over) return;
  threads_->run([shared = shared_] { shared->run(); });
  shared_->is_running = true;
}

void ProgressTask::end() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_over = true;
  if (shared_->runner == std::this_thread::get_id()) return;
  shared_->changed.wait(lock, [this] { return !shared_->is_running; });
}

}  // namespace hemiola
