// SPDX-License-Identifier: Apache-2.0
// One place where messages leave and arrive. Used by one thread at a time.
#pragma once

#include <memory>

#include "hemiola/base/bytes.hpp"
#include "hemiola/runtime/wire/ucx/ucx_context.hpp"

namespace hemiola {

class UcxWorker {
 public:
  /// Throws ArgumentError where UCX cannot open its devices.
  explicit UcxWorker(std::shared_ptr<const UcxContext> context);
  UcxWorker(const UcxWorker&) = delete;
  ~UcxWorker() { functions().worker_destroy(worker_); }

  const UcxLibrary& library() const { return context_->library(); }
  const ucp::Functions& functions() const { return context_->functions(); }
  ucp::Worker* get() const { return worker_; }

  /// By which others reach it.
  Bytes address() const;

  /// Calls `handler` with `argument` for each message, while the worker makes progress.
  void on_arrival(ucp::ActiveMessageCallback handler, void* argument);
  /// Calls the handlers of arrived messages, as long as there is something to do, but not forever.
  void progress();
  /// Once nothing is left to do: its descriptor can be read when there is. False: there is something already.
  bool arm();
  int descriptor() const { return descriptor_; }
  /// Sends posted messages, for so long at most. Returns whether all has gone.
  bool flush(double limit_s);
  /// Destroys a worker, if there is one. `owes_nobody`: nobody can just be connecting to it, or it has answered all who are;
  /// else, where UCX would not survive that, it stays, with its descriptors, until the process ends.
  static void end(std::unique_ptr<UcxWorker> worker, bool owes_nobody);

 private:
  std::shared_ptr<const UcxContext> context_;
  ucp::Worker* worker_ = nullptr;
  int descriptor_ = -1;
};

}  // namespace hemiola
