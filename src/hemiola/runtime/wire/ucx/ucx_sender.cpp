// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/ucx_sender.hpp"

namespace hemiola {

std::uint64_t UcxSender::post(const std::byte* data, std::size_t bytes) {
  Outgoing* const outgoing = pool_.take();
  const OperationTag& tag = *moment_->tag;
  *outgoing = {.sender = this,
               .header = {.key = key_,
                          .sender = static_cast<std::uint32_t>(moment_->self),
                          .operation = tag.operation,
                          .epoch = moment_->epoch,
                          .number = ++posted_ - before_epoch_,
                          .digest = tag.digest,
                          .version = tag.version,
                          .flags = tag.hints},
               .data = data,
               .bytes = bytes,
               .is_done = false};
  queue_.push(outgoing);
  return posted_;
}

void UcxSender::begin(const UcxEndpoint& endpoint) {
  while (has_waiting()) begin(endpoint, queue_[begun_++]);
}

void UcxSender::begin(const UcxEndpoint& endpoint, Outgoing* outgoing) {
  const ucp::RequestParams params{.fields = ucp::RequestParams::kCallback | ucp::RequestParams::kUserData,
                                  .callback = {.sent = has_been_sent},
                                  .user_data = outgoing};
  const ucp::StatusPointer request =
      ucx_->am_send_nbx(endpoint.get(), kUcxMessageId, &outgoing->header, sizeof outgoing->header,
                        outgoing->data, outgoing->bytes, &params);
  if (ucp::is_over(request))
    note_end(outgoing, ucp::status_of(request));
  else
    ++moment_->in_flight;
}

void UcxSender::has_been_sent(void* request, ucp::Status status, void* user_data) {
  auto* const outgoing = static_cast<Outgoing*>(user_data);
  UcxSender* const sender = outgoing->sender;
  sender->ucx_->request_free(request);
  --sender->moment_->in_flight;
  sender->moment_->has_moved = true;
  sender->note_end(outgoing, status);
}

void UcxSender::note_end(Outgoing* outgoing, ucp::Status status) {
  outgoing->is_done = status == ucp::Status::ok;
  if (failure_ == ucp::Status::ok) failure_ = status;
  for (; !queue_.empty() && queue_.front()->is_done; ++completed_, --begun_) {
    pool_.give_back(queue_.front());
    queue_.pop();
  }
}

void UcxSender::forget() {
  for (; !queue_.empty(); queue_.pop()) pool_.give_back(queue_.front());
  begun_ = 0;
  completed_ = before_epoch_ = posted_;
  failure_ = ucp::Status::ok;
}

}  // namespace hemiola
