// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/messages/mailbox.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/plain_copy.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {

static_assert(sizeof(TaggedHeader) == 32);

Mailbox::Mailbox(Wire* wire, const Members* members)
    : wire_(wire), members_(members), peers_(static_cast<std::size_t>(members->count())) {}

void Mailbox::post(const RequestPtr& request) {
  if (!is_listening_) {
    is_listening_ = true;
    for (Rank rank : indices<Rank>(members_->count()))
      if (rank != members_->self) listen(rank);
  }
  request->number = ++posted_count_;
  active_.emplace(request->number, request);
  if (request->is_send)
    post_send(request);
  else
    post_receive(request);
}

/// A message to oneself has a receiver that cannot come while one waits for it, so it is always copied.
void Mailbox::post_send(const RequestPtr& request) {
  const Rank dst = *request->peer;
  const std::size_t bytes = request->byte_count();
  Header header{.kind = Kind::eager,
                .dtype = request->dtype,
                .number = request->number,
                .tag = request->tag,
                .element_count = request->element_count};
  if (dst == members_->self) {
    take_message({dst, header, Bytes(request->data, request->data + bytes)});
    return end(request, nullptr);
  }
  if (bytes <= kEagerBytes && buffered_bytes_ + bytes <= kMostBuffered) {
    send_frame(dst, header, request->data);
    return end(request, nullptr);
  }
  header.kind = Kind::offer;
  offered_.emplace(request->number, request);
  send_frame(dst, header);
}

void Mailbox::post_receive(const RequestPtr& request) {
  for (auto message = arrived_.begin(); message != arrived_.end(); ++message)
    if (meet(request, &*message)) {
      arrived_.erase(message);
      return;
    }
  request->stage = MessageRequest::Stage::waiting;
  waiting_.emplace(request->number, request);
}

void Mailbox::send_frame(Rank dst, const Header& header, const std::byte* data) {
  const std::size_t bytes = header.kind == Kind::eager ? header.byte_count() : 0;
  Bytes frame(sizeof header + bytes);
  std::memcpy(frame.data(), &header, sizeof header);
  if (bytes > 0) plain_copy(frame.data() + sizeof header, data, bytes);
  buffered_bytes_ += frame.size();
  ++outgoing_count_;
  const Request sent = wire_->send(dst, frame.data(), frame.size());
  peer(dst).outgoing.push_back({sent, std::move(frame), nullptr});
}

void Mailbox::send_data(const RequestPtr& request) {
  const Rank dst = *request->peer;
  send_frame(dst, {.kind = Kind::data,
                   .dtype = request->dtype,
                   .number = request->number,
                   .tag = request->tag,
                   .element_count = request->element_count});
  request->stage = MessageRequest::Stage::moving;
  ++outgoing_count_;
  peer(dst).outgoing.push_back({wire_->send(dst, request->data, request->byte_count()), {}, request});
}

void Mailbox::listen(Rank src) {
  Peer& from = peer(src);
  from.frame.resize(kFrameBytes);
  from.frame_request =
      wire_->receive(src, {.dst = from.frame.data(), .received = &from.received}, kFrameBytes);
}

bool Mailbox::progress() {
  bool moved = wire_->progress();
  for (Rank rank : indices<Rank>(members_->count())) {
    if (rank == members_->self) continue;
    moved |= reap(&peer(rank));
    while (take(rank)) moved = true;
  }
  return moved;
}

bool Mailbox::reap(Peer* to) {
  bool moved = false;
  while (!to->outgoing.empty() && wire_->done(to->outgoing.front().on_wire)) {
    const Outgoing done = std::move(to->outgoing.front());
    to->outgoing.pop_front();
    --outgoing_count_;
    buffered_bytes_ -= done.frame.size();
    if (done.request) end(done.request, nullptr);
    moved = true;
  }
  return moved;
}

/// One frame, or the data that follows one.
bool Mailbox::take(Rank src) {
  Peer& from = peer(src);
  if (from.data_request) {
    if (!wire_->done(*from.data_request)) return false;
    from.data_request.reset();
    end_data(src);
  } else {
    if (!from.frame_request || !wire_->done(*from.frame_request)) return false;
    from.frame_request.reset();
    handle(src, std::span(from.frame).first(from.received));
  }
  if (!from.data_request) listen(src);
  return true;
}

void Mailbox::check(Rank src, const Header& header, std::size_t bytes) const {
  const bool is_known =
      header.kind <= Kind::withdraw && static_cast<std::size_t>(header.dtype) < kDTypeNames.size();
  const std::size_t expected = header.kind == Kind::eager && is_known ? header.byte_count() : 0;
  if (is_known && header.element_count >= 0 && expected == bytes) return;
  throw BadMessageError(
      src, "a message of " + std::to_string(bytes) +
               " bytes with a header that says something else; ranks must run the same version of hemiola");
}

void Mailbox::handle(Rank src, std::span<const std::byte> frame) {
  Header header;
  if (frame.size() < sizeof header) throw BadMessageError(src, "half a header");
  std::memcpy(&header, frame.data(), sizeof header);
  const auto data = frame.subspan(sizeof header);
  check(src, header, data.size());
  switch (header.kind) {
    case Kind::eager:
    case Kind::offer:
      return take_message({src, header, Bytes(data.begin(), data.end())});
    case Kind::accept:
    case Kind::refuse:
      return heed_answer(src, header);
    case Kind::data:
      return begin_data(src, header);
    case Kind::withdraw:
      return heed_withdrawal(src, header.number);
  }
}

/// To an offer that has been withdrawn since there may be an answer, too.
void Mailbox::heed_answer(Rank src, const Header& header) {
  const auto offer = offered_.find(header.number);
  if (offer == offered_.end() || offer->second->peer != src) return;
  const RequestPtr request = offer->second;
  offered_.erase(offer);
  if (header.kind == Kind::accept)
    send_data(request);
  else
    end(request, nullptr);
}

void Mailbox::begin_data(Rank src, const Header& header) {
  Peer& from = peer(src);
  const auto accepted = from.accepted.find(header.number);
  if (accepted == from.accepted.end() || accepted->second.header.byte_count() != header.byte_count())
    throw BadMessageError(src, "data that nobody has asked it for");
  Accepted& of = accepted->second;
  std::byte* place = nullptr;
  if (of.request) {
    of.request->stage = MessageRequest::Stage::moving;
    place = of.request->data;
  } else {
    of.kept.resize(header.byte_count());
    place = of.kept.data();
  }
  from.data_number = header.number;
  from.data_request = wire_->receive(src, {.dst = place}, header.byte_count());
}

void Mailbox::end_data(Rank src) {
  Peer& from = peer(src);
  const auto node = from.accepted.extract(from.data_number);
  Accepted& of = node.mapped();
  if (of.request) return end(of.request, nullptr);
  of.header.kind = Kind::eager;
  take_message({src, of.header, std::move(of.kept)});
}

/// A receive that has been told of it waits again, in its old place.
void Mailbox::heed_withdrawal(Rank src, std::uint64_t number) {
  std::erase_if(arrived_, [&](const Arrived& message) {
    return message.src == src && message.header.kind == Kind::offer && message.header.number == number;
  });
  const auto node = peer(src).accepted.extract(number);
  if (!node.empty() && node.mapped().request) post_receive(node.mapped().request);
}

void Mailbox::take_message(Arrived message) {
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each)
    if (meet(each->second, &message)) {
      waiting_.erase(each);
      return;
    }
  arrived_.push_back(std::move(message));
}

/// Whether the one is for the other; then it is received.
bool Mailbox::meet(const RequestPtr& request, Arrived* message) {
  if (request->tag != message->header.tag || (request->peer && *request->peer != message->src)) return false;
  request->source = message->src;
  const Header& header = message->header;
  const bool fits = request->dtype == header.dtype && request->element_count == header.element_count;
  if (header.kind == Kind::offer) {
    send_frame(message->src, {.kind = fits ? Kind::accept : Kind::refuse, .number = header.number});
    if (fits) {
      request->stage = MessageRequest::Stage::agreed;
      peer(message->src).accepted.emplace(header.number, Accepted{header, request, {}});
      return true;
    }
  }
  if (fits) {
    if (!message->data.empty()) plain_copy(request->data, message->data.data(), message->data.size());
    end(request, nullptr);
  } else {
    const std::string self = members_->name(members_->self), other = members_->name(message->src);
    end(request,
        std::make_exception_ptr(MismatchError(
            "recv with tag " + std::to_string(header.tag) + ": " + other + " has sent " +
            described(header.element_count, header.dtype) + ", " + self + " passed an array of " +
            described(request->element_count, request->dtype) +
            ". The array is as it was, and the message is gone; pass an array like the one that is sent.")));
  }
  return true;
}

bool Mailbox::withdraw(const RequestPtr& request) {
  if (request->stage == MessageRequest::Stage::moving) return false;
  if (request->is_send) {
    offered_.erase(request->number);
    send_frame(*request->peer, {.kind = Kind::withdraw, .number = request->number});
    return true;
  }
  waiting_.erase(request->number);
  for (Peer& from : peers_)
    for (auto& [number, accepted] : from.accepted)
      if (accepted.request == request) accepted.request = nullptr;
  return true;
}

void Mailbox::end(const RequestPtr& request, std::exception_ptr error) {
  active_.erase(request->number);
  request->error = std::move(error);
  if (request->keep_alive) released_.push_back(std::move(request->keep_alive));
  request->is_done.store(true, std::memory_order_release);
}

void Mailbox::end_all(const std::exception_ptr& error) {
  for (const RequestPtr& request : outstanding()) end(request, error);
  waiting_.clear();
  offered_.clear();
  arrived_.clear();
  for (Peer& each : peers_) each = {};
  outgoing_count_ = buffered_bytes_ = 0;
}

std::vector<Mailbox::RequestPtr> Mailbox::outstanding() const {
  std::vector<RequestPtr> requests;
  for (const auto& [number, request] : active_) requests.push_back(request);
  return requests;
}

std::vector<std::int64_t> Mailbox::unreceived_tags(Rank from) const {
  std::vector<std::int64_t> tags;
  for (const Arrived& message : arrived_)
    if (message.src == from && std::ranges::find(tags, message.header.tag) == tags.end())
      tags.push_back(message.header.tag);
  return tags;
}

}  // namespace hemiola
