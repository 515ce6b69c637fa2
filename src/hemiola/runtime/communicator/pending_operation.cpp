// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/communicator/pending_operation.hpp"

#include <chrono>
#include <memory>

namespace hemiola {
namespace {

std::int64_t steady_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

bool PendingOperation::wait_for(double timeout_s) {
  home_.check();
  const Callers::OneWaits waits(callers_.get());
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::duration<double>(timeout_s), [this] { return done_; }))
    return false;
  if (error_) std::rethrow_exception(error_);
  return true;
}

bool PendingOperation::is_done() const {
  home_.check();
  const std::lock_guard lock(mutex_);
  return done_;
}

std::pair<std::int64_t, std::int64_t> PendingOperation::times_ns() const {
  home_.check();
  const std::lock_guard lock(mutex_);
  return {began_ns_, ended_ns_};
}

void PendingOperation::when_done(Then then) {
  home_.check();
  {
    const std::lock_guard lock(mutex_);
    if (!done_) {
      thens_.push_back(std::move(then));
      return;
    }
  }
  then();
}

void PendingOperation::begin() {
  const std::lock_guard lock(mutex_);
  began_ns_ = steady_ns();
}

std::vector<PendingOperation::Then> PendingOperation::finish(std::exception_ptr error) {
  const std::shared_ptr<const void> released = std::move(call_.keep_alive);
  std::vector<Then> thens;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    ended_ns_ = steady_ns();
    error_ = std::move(error);
    thens = std::move(thens_);
  }
  changed_.notify_all();
  return thens;
}

}  // namespace hemiola
