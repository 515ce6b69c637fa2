// SPDX-License-Identifier: Apache-2.0
// The operations of one communicator that run while their callers do something else: one after the other, in a thread that
// the job lends for as long as there are any.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "hemiola/runtime/communicator/pending_operation.hpp"
#include "hemiola/runtime/session/progress_threads.hpp"

namespace hemiola {

class Background {
 public:
  /// Runs one; throws its error.
  using Run = std::function<void(PendingOperation*)>;

  Background(ProgressThreads* threads, Run run);
  Background(const Background&) = delete;

  /// Callers that have started operations, and those that wait for all; for the thread that runs one.
  const std::shared_ptr<Callers>& callers() const { return callers_; }
  /// Runs it after those that came before. Throws as ProgressTask::wake does; then it has not come.
  void start(const std::shared_ptr<PendingOperation>& operation);
  /// Until all that have come are over; `interrupted` is called now and then, and throws to stop waiting. Throws an
  /// ArgumentError in the thread that would have to run them, in which callbacks are called.
  void await_all(const std::function<void()>& interrupted) const;
  /// Waits for the operation that runs, unless its callback calls this; those that have not begun fail with `error`.
  /// None may come any more.
  void end(const std::exception_ptr& error);

 private:
  struct Queue;

  std::shared_ptr<Callers> callers_ = std::make_shared<Callers>();
  std::shared_ptr<Queue> queue_;  ///< the callback of an operation may be the end of its communicator
  ProgressTask task_;
};

}  // namespace hemiola
