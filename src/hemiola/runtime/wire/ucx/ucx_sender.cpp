#include "hemiola/runtime/wire/ucx/ucx_sender.hpp"

namespace hemiola {

std::uint64_t UcxSender::post(UcxEndpoint* endpoint, const std::byte* data, std::size_t bytes) {
  Outgoing* const outgoing = pool_.take();
  const OperationTag& tag = moment_->tag;
  outgoing->sender = this;
  outgoing->header = {.key = key_,
                      .epoch = moment_->epoch,
                      .number = ++posted_ - before_epoch_,
                      .digest = tag.digest,
                      .operation = tag.operation,
                      .sender = static_cast<std::uint32_t>(moment_->self),
                      .version = tag.version};
  outgoing->is_at_ucx = outgoing->is_done = outgoing->is_forgotten = outgoing->counts = false;
  queue_.push(outgoing);
  if (!endpoint->is_open()) return posted_;
  if (!endpoint->can_force()) {
    outgoing->copy.assign(data, data + bytes);
    data = outgoing->copy.data();
  }
  const ucp::RequestParams params{.fields = ucp::RequestParams::kCallback | ucp::RequestParams::kUserData,
                                  .callback = {.sent = has_been_sent},
                                  .user_data = outgoing};
  const ucp::StatusPointer request = ucx_->am_send_nbx(endpoint->get(), kMessageId, &outgoing->header,
                                                       sizeof outgoing->header, data, bytes, &params);
  if (request == nullptr || ucp::is_error(request)) {
    note_end(outgoing, request == nullptr ? ucp::Status::ok : ucp::status_of(request));
  } else {
    outgoing->is_at_ucx = true;
    outgoing->counts = endpoint->can_force();
    moment_->in_flight += outgoing->counts ? 1 : 0;
  }
  return posted_;
}

void UcxSender::has_been_sent(void* request, ucp::Status status, void* user_data) {
  auto* const outgoing = static_cast<Outgoing*>(user_data);
  UcxSender* const sender = outgoing->sender;
  sender->ucx_->request_free(request);
  outgoing->is_at_ucx = false;
  sender->moment_->in_flight -= outgoing->counts ? 1 : 0;
  if (outgoing->is_forgotten) return sender->pool_.give_back(outgoing);
  sender->moment_->has_moved = true;
  sender->note_end(outgoing, status);
}

void UcxSender::note_end(Outgoing* outgoing, ucp::Status status) {
  outgoing->is_done = status == ucp::Status::ok;
  if (failure_ == ucp::Status::ok) failure_ = status;
  complete();
}

void UcxSender::complete() {
  for (; !queue_.empty() && queue_.front()->is_done; ++completed_) {
    pool_.give_back(queue_.front());
    queue_.pop();
  }
}

void UcxSender::forget() {
  for (; !queue_.empty(); queue_.pop()) {
    Outgoing* const outgoing = queue_.front();
    outgoing->is_forgotten = true;
    if (!outgoing->is_at_ucx) pool_.give_back(outgoing);
  }
  completed_ = before_epoch_ = posted_;
  failure_ = ucp::Status::ok;
}

}  // namespace hemiola
