// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/ucx_endpoint.hpp"

#include <utility>

#include "hemiola/runtime/wire/ucx/transport_names.hpp"

namespace hemiola {

void UcxEndpoint::open(UcxWorker* worker, std::span<const std::byte> address, HasFailed has_failed,
                       void* argument) {
  ucx_ = &worker->functions();
  ucp::EndpointParams params{.field_mask = ucp::EndpointParams::kAddress | ucp::EndpointParams::kErrorMode |
                                           ucp::EndpointParams::kErrorHandler,
                             .address = reinterpret_cast<const ucp::Address*>(address.data()),
                             .error_mode = ucp::EndpointParams::kPeerErrors,
                             .error_callback = has_failed,
                             .error_argument = argument};
  ucp::Status status = ucx_->ep_create(worker->get(), &params, &endpoint_);
  tells_of_end_ = status == ucp::Status::ok;
  stands_ = false;
  if (status != ucp::Status::ok) {  // no transport that tells of a peer's end, as over shared memory
    params.field_mask = ucp::EndpointParams::kAddress;
    status = ucx_->ep_create(worker->get(), &params, &endpoint_);
  }
  if (status == ucp::Status::ok) return;
  endpoint_ = nullptr;
  why_not_ = "UCX " + worker->library().version() +
             " finds no way to it: " + worker->library().text_of(status) + UcxLibrary::complaint() +
             ". UCX_TLS and UCX_NET_DEVICES choose its transports and devices";
}

std::vector<std::string> UcxEndpoint::transports() const {
  return transport_names([&](std::FILE* stream) { ucx_->ep_print_info(endpoint_, stream); });
}

void UcxEndpoint::greet(unsigned id) {
  static constexpr std::byte kGreeting{};
  const ucp::RequestParams params{.fields = ucp::RequestParams::kCallback | ucp::RequestParams::kUserData,
                                  .callback = {.sent =
                                                   [](void* request, ucp::Status status, void* endpoint) {
                                                     auto* const self = static_cast<UcxEndpoint*>(endpoint);
                                                     self->note_greeted(status);
                                                     self->ucx_->request_free(request);
                                                   }},
                                  .user_data = this};
  is_greeting_ = true;
  const ucp::StatusPointer request =
      ucx_->am_send_nbx(endpoint_, id, &kGreeting, sizeof kGreeting, nullptr, 0, &params);
  if (ucp::is_over(request)) note_greeted(ucp::status_of(request));
}

void UcxEndpoint::close() {
  const ucp::RequestParams params{.fields = ucp::RequestParams::kFlags, .flags = ucp::RequestParams::kForce};
  closing_ = ucx_->ep_close_nbx(std::exchange(endpoint_, nullptr), &params);
}

bool UcxEndpoint::is_closed() {
  if (ucp::is_over(closing_)) return true;
  if (ucx_->request_check_status(closing_) == ucp::Status::in_progress) return false;
  ucx_->request_free(std::exchange(closing_, nullptr));
  return true;
}

}  // namespace hemiola
