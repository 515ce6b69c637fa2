// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/ucx_worker.hpp"

#include <utility>

#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/wire/ucx/ucx_header.hpp"

namespace hemiola {
namespace {

/// Enough for a message's way through several of UCX's queues; callers do other work in between.
constexpr int kMostRounds = 16;

}  // namespace

UcxWorker::UcxWorker(std::shared_ptr<const UcxContext> context) : context_(std::move(context)) {
  const ucp::WorkerParams params{.field_mask = ucp::WorkerParams::kThreadMode,
                                 .thread_mode = ucp::WorkerParams::kSerialized};
  context_->check(functions().worker_create(context_->get(), &params, &worker_), "open its devices");
  const ucp::Status status = functions().worker_get_efd(worker_, &descriptor_);
  if (status != ucp::Status::ok) functions().worker_destroy(worker_);
  context_->check(status, "open its devices");
}

Bytes UcxWorker::address() const {
  ucp::Address* address = nullptr;
  std::size_t bytes = 0;
  context_->check(functions().worker_get_address(worker_, &address, &bytes), "tell its address");
  const auto* const begin = reinterpret_cast<const std::byte*>(address);
  Bytes copy(begin, begin + bytes);
  functions().worker_release_address(worker_, address);
  return copy;
}

void UcxWorker::on_arrival(ucp::ActiveMessageCallback handler, void* argument) {
  const ucp::HandlerParams params{.field_mask = ucp::HandlerParams::kId | ucp::HandlerParams::kFlags |
                                                ucp::HandlerParams::kCallback | ucp::HandlerParams::kArgument,
                                  .id = kUcxMessageId,
                                  .flags = ucp::HandlerParams::kWholeMessages,
                                  .callback = handler,
                                  .argument = argument};
  context_->check(functions().worker_set_am_recv_handler(worker_, &params), "take a handler");
}

void UcxWorker::progress() {
  for (int round = 0; round < kMostRounds && functions().worker_progress(worker_) != 0; ++round) {
  }
}

bool UcxWorker::arm() {
  const ucp::Status status = functions().worker_arm(worker_);
  if (status != ucp::Status::busy) context_->check(status, "wait");
  return status == ucp::Status::ok;
}

bool UcxWorker::flush(double limit_s) {
  const ucp::RequestParams params;
  const ucp::StatusPointer request = functions().worker_flush_nbx(worker_, &params);
  if (ucp::is_over(request)) return ucp::status_of(request) == ucp::Status::ok;
  const Deadline deadline(limit_s);
  ucp::Status status = ucp::Status::in_progress;
  for (Pause pause(100); !deadline.passed(); pause.wait()) {
    progress();
    status = functions().request_check_status(request);
    if (status != ucp::Status::in_progress) break;
  }
  functions().request_free(request);
  return status == ucp::Status::ok;
}

void UcxWorker::end(std::unique_ptr<UcxWorker> worker, bool owes_nobody) {
  if (worker && !owes_nobody && !worker->library().may_destroy_unanswered()) (void)worker.release();
}

}  // namespace hemiola
