// SPDX-License-Identifier: Apache-2.0
// An operation that runs in the background, in its starter's hands.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hemiola/base/home_process.hpp"
#include "hemiola/runtime/communicator/prepared_call.hpp"
#include "hemiola/runtime/operation/callers.hpp"

namespace hemiola {

class PendingOperation {
 public:
  using Then = std::function<void()>;

  /// `callers`: those of its communicator.
  PendingOperation(PreparedCall call, std::shared_ptr<Callers> callers)
      : call_(std::move(call)), callers_(std::move(callers)) {}

  /// True once it is over; rethrows its error. `timeout_s` bounds the waiting, not the operation.
  bool wait_for(double timeout_s);
  bool is_done() const;
  /// When its turn came and when it was over, in nanoseconds of the steady clock; 0 where that is still to come.
  std::pair<std::int64_t, std::int64_t> times_ns() const;
  /// Calls `then` once it is over, in the thread that runs operations, which it must not hold up; at once where it is
  /// over already.
  void when_done(Then then);

  /// For the thread that runs it: the work, its begin, and its end, when its memory is released. Returns the callback.
  const PreparedCall& call() const { return call_; }
  void begin();
  [[nodiscard]] std::vector<Then> finish(std::exception_ptr error);

 private:
  HomeProcess home_;
  PreparedCall call_;
  std::shared_ptr<Callers> callers_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::int64_t began_ns_ = 0;
  std::int64_t ended_ns_ = 0;
  std::exception_ptr error_;
  std::vector<Then> thens_;
};

}  // namespace hemiola
