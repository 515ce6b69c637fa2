// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/ucx_desk.hpp"

#include <cstring>
#include <utility>

namespace hemiola {

UcxDesk::UcxDesk(std::unique_ptr<UcxWorker> worker, UcxMoment* moment, const std::vector<UcxPeer>& peers)
    : ucx_(&worker->functions()), worker_(std::move(worker)), moment_(moment), clients_(peers.size()) {
  for (std::size_t i = 0; i < peers.size(); ++i) {
    clients_[i].desk = this;
    clients_[i].key = peers[i].key;
    clients_[i].desk_address = peers[i].desk;
  }
  worker_->on_arrival(has_arrived, this);
}

/// The worker before all else, since it may call back while it ends.
UcxDesk::~UcxDesk() {
  UcxWorker::end(std::move(worker_), announced_ == 0);
}

void UcxDesk::announce(Bytes own_address) {
  announced_ = moment_->epoch;
  own_address_ = std::move(own_address);
  answer();
}

const Bytes* UcxDesk::address_of(Rank peer) {
  Client& client = clients_[static_cast<std::size_t>(peer)];
  if (client.is_in == announced_) return &client.address;
  if (client.asked != announced_) {
    client.asked = announced_;
    tell(&client, false);
  }
  return nullptr;
}

void UcxDesk::progress() {
  worker_->progress();
  if (has_questions_) answer();
}

/// A rank that is ahead is answered when this rank comes there.
void UcxDesk::answer() {
  has_questions_ = false;
  for (Client& client : clients_) {
    if (client.wants != announced_ || announced_ == 0) continue;
    client.wants = 0;
    tell(&client, true);
  }
}

void UcxDesk::tell(Client* client, bool answers) {
  if (!client->endpoint.is_open() && client->endpoint.why_not().empty())
    client->endpoint.open(worker_.get(), client->desk_address, has_failed, client);
  if (!client->endpoint.is_open()) {
    client->failure = ucp::Status::unreachable;
    return;
  }
  Note* const note = notes_.take();
  *note = {.desk = this,
           .header = {.key = client->key,
                      .epoch = announced_,
                      .sender = static_cast<std::uint32_t>(moment_->self),
                      .answers = answers},
           .address = answers ? own_address_ : Bytes()};
  const ucp::RequestParams params{.fields = ucp::RequestParams::kCallback | ucp::RequestParams::kUserData,
                                  .callback = {.sent = has_been_sent},
                                  .user_data = note};
  const ucp::StatusPointer request = worker_->functions().am_send_nbx(
      client->endpoint.get(), kUcxMessageId, &note->header, sizeof note->header, note->address.data(),
      note->address.size(), &params);
  if (!ucp::is_over(request)) return;
  if (ucp::is_error(request)) client->failure = ucp::status_of(request);
  notes_.give_back(note);
}

void UcxDesk::has_been_sent(void* request, ucp::Status, void* user_data) {
  auto* const note = static_cast<Note*>(user_data);
  note->desk->ucx_->request_free(request);
  note->desk->notes_.give_back(note);
}

/// A sender without the key is no rank of this group.
ucp::Status UcxDesk::has_arrived(void* argument, const void* header_bytes, std::size_t header_size,
                                 void* data, std::size_t bytes, const ucp::ActiveMessageParams* params) {
  auto* const desk = static_cast<UcxDesk*>(argument);
  Header header;
  if (header_size != sizeof header || (params->attributes & ucp::ActiveMessageParams::kRendezvous) != 0)
    return ucp::Status::ok;
  std::memcpy(&header, header_bytes, sizeof header);
  const auto self = static_cast<std::size_t>(desk->moment_->self);
  if (header.key != desk->clients_[self].key || header.sender >= desk->clients_.size() ||
      header.sender == self)
    return ucp::Status::ok;
  Client& client = desk->clients_[header.sender];
  if (header.answers == 0) {
    client.wants = header.epoch;
    desk->has_questions_ = true;
  } else {
    const auto* const begin = static_cast<const std::byte*>(data);
    client.address.assign(begin, begin + bytes);
    client.is_in = header.epoch;
    desk->moment_->has_moved = true;
  }
  return ucp::Status::ok;
}

void UcxDesk::has_failed(void* argument, ucp::Endpoint*, ucp::Status status) {
  auto* const client = static_cast<Client*>(argument);
  client->failure = status;
  client->desk->moment_->has_moved = true;
}

}  // namespace hemiola
