// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/ucx_receiver.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/base/plain_copy.hpp"
#include "hemiola/runtime/wire/message_fate.hpp"

namespace hemiola {
namespace {

/// Of any element.
constexpr std::size_t kAlignment = 16;
constexpr std::size_t kBounceBytes = std::size_t{16} << 10;

bool is_aligned(const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0;
}

/// UCX hands over bytes at any address; elements are combined where they are aligned.
void combine_from(const std::byte* data, const Landing& landing, std::size_t bytes) {
  if (is_aligned(data)) return bulk_combine(landing.combine, landing.dst, landing.operand, data, bytes);
  alignas(64) std::array<std::byte, kBounceBytes> bounce;
  for (std::size_t at = 0; at < bytes; at += kBounceBytes) {
    const std::size_t part = std::min(kBounceBytes, bytes - at);
    plain_copy(bounce.data(), data + at, part);
    bulk_combine(landing.combine, landing.dst + at, landing.operand + at, bounce.data(), part);
  }
}

}  // namespace

UcxReceiver::~UcxReceiver() {
  forget();
}

std::uint64_t UcxReceiver::post(const Landing& landing, std::size_t capacity) {
  Incoming* const incoming = pool_.take();
  incoming->receiver = this;
  incoming->landing = landing;
  incoming->capacity = capacity;
  incoming->is_staged = incoming->is_done = false;
  queue_.push(incoming);
  return ++posted_;
}

bool UcxReceiver::is_next(const UcxHeader& header) const {
  return header.number == next_;
}

bool UcxReceiver::fits(const Incoming& incoming, std::size_t bytes) const {
  return bytes == incoming.capacity || (incoming.landing.received != nullptr && bytes < incoming.capacity);
}

UcxReceiver::Incoming* UcxReceiver::begin_next(const UcxArrival& arrival) {
  Incoming* const incoming = queue_[begun_++];
  incoming->bytes = arrival.bytes;
  payload_bytes_ += arrival.bytes;
  moment_->tag->hints |= arrival.header.tag().hints;
  ++next_;
  return incoming;
}

bool UcxReceiver::arrive(UcxArrival arrival, bool may_be_kept) {
  if (arrival.header.number < next_) return false;
  moment_->has_moved = true;
  const bool lands_at_once = arrivals_.empty() && !arrival.is_fetched && is_next(arrival.header) &&
                             begun_ < queue_.size() && fits(*queue_[begun_], arrival.bytes) &&
                             fate_of(arrival.header.tag(), *moment_->tag) == Fate::lands;
  if (lands_at_once) {
    place(begin_next(arrival), static_cast<const std::byte*>(arrival.data));
    return false;
  }
  arrival.is_kept = may_be_kept || arrival.is_fetched;
  if (!arrival.is_kept) {
    arrival.copy = new std::byte[arrival.bytes];
    plain_copy(arrival.copy, static_cast<const std::byte*>(arrival.data), arrival.bytes);
    arrival.data = arrival.copy;
  }
  keep(arrival);
  return arrival.is_kept;
}

/// They come in order, but for those that UCX has sent over different ways.
void UcxReceiver::keep(UcxArrival arrival) {
  const auto number = [&](std::size_t i) { return arrivals_[i].header.number; };
  arrivals_.push(arrival);
  for (std::size_t i = arrivals_.size() - 1; i > 0 && number(i) < number(i - 1); --i)
    std::swap(arrivals_[i], arrivals_[i - 1]);
}

void UcxReceiver::land(ucp::Worker* worker, bool lands_in_place) {
  while (!arrivals_.empty() && begun_ < queue_.size()) {
    const UcxArrival arrival = arrivals_.front();
    if (!is_next(arrival.header) || fate_of(arrival.header.tag(), *moment_->tag) != Fate::lands) return;
    check_message_size(peer_, queue_[begun_]->landing, queue_[begun_]->capacity, arrival.bytes);
    arrivals_.pop();
    Incoming* const incoming = begin_next(arrival);
    if (arrival.is_fetched) {
      fetch(worker, incoming, arrival.data, lands_in_place);
    } else {
      place(incoming, static_cast<const std::byte*>(arrival.data));
      if (arrival.is_kept) ucx_->am_data_release(worker, arrival.data);
      delete[] arrival.copy;
    }
  }
}

void UcxReceiver::place(Incoming* incoming, const std::byte* data) {
  const Landing& landing = incoming->landing;
  if (landing.combine != nullptr)
    combine_from(data, landing, incoming->bytes);
  else if (incoming->bytes > 0)
    bulk_copy(landing.dst, data, incoming->bytes);
  note_end(incoming, ucp::Status::ok);
}

void UcxReceiver::fetch(ucp::Worker* worker, Incoming* incoming, void* data, bool lands_in_place) {
  incoming->is_staged = incoming->landing.combine != nullptr || !lands_in_place;
  if (incoming->is_staged) incoming->staging.resize(std::max(incoming->bytes, incoming->staging.size()));
  std::byte* const to = incoming->is_staged ? incoming->staging.data() : incoming->landing.dst;
  const ucp::RequestParams params{.fields = ucp::RequestParams::kCallback | ucp::RequestParams::kUserData,
                                  .callback = {.received = has_been_fetched},
                                  .user_data = incoming};
  const ucp::StatusPointer request = ucx_->am_recv_data_nbx(worker, data, to, incoming->bytes, &params);
  if (request == nullptr)
    complete(incoming);
  else if (ucp::is_error(request))
    note_end(incoming, ucp::status_of(request));
  else
    ++moment_->in_flight;
}

void UcxReceiver::has_been_fetched(void* request, ucp::Status status, std::size_t, void* user_data) {
  auto* const incoming = static_cast<Incoming*>(user_data);
  UcxReceiver* const receiver = incoming->receiver;
  receiver->ucx_->request_free(request);
  --receiver->moment_->in_flight;
  receiver->moment_->has_moved = true;
  if (status == ucp::Status::ok)
    receiver->complete(incoming);
  else
    receiver->note_end(incoming, status);
}

/// The fetched bytes.
void UcxReceiver::complete(Incoming* incoming) {
  if (incoming->is_staged)
    place(incoming, incoming->staging.data());
  else
    note_end(incoming, ucp::Status::ok);
}

void UcxReceiver::note_end(Incoming* incoming, ucp::Status status) {
  if (failure_ == ucp::Status::ok) failure_ = status;
  incoming->is_done = status == ucp::Status::ok;
  if (incoming->is_done && incoming->landing.received != nullptr)
    *incoming->landing.received = incoming->bytes;
  for (; !queue_.empty() && queue_.front()->is_done; ++completed_, --begun_) {
    pool_.give_back(queue_.front());
    queue_.pop();
  }
}

std::optional<OperationTag> UcxReceiver::foreign() {
  if (arrivals_.empty() || !is_next(arrivals_.front().header)) return std::nullopt;
  return foreign_tag(arrivals_.front().header.tag(), *moment_->tag, begun_ < queue_.size());
}

void UcxReceiver::forget() {
  for (; !queue_.empty(); queue_.pop()) pool_.give_back(queue_.front());
  for (; !arrivals_.empty(); arrivals_.pop()) delete[] arrivals_.front().copy;
  completed_ = posted_;
  begun_ = 0;
  next_ = 1;
  failure_ = ucp::Status::ok;
}

}  // namespace hemiola
