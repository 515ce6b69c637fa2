// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/visitor.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/net/encryption_error.hpp"
#include "hemiola/runtime/net/handshake.hpp"
#include "hemiola/runtime/net/random_bytes.hpp"
#include "hemiola/runtime/net/reception.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"

namespace hemiola {
namespace {

/// How long one member may take to answer before the next one is tried.
constexpr double kAnswer_s = 2.0;
constexpr int kGlance_ms = 5;

/// Whether a connection with a process of the job was made, or why not.
Handshake shaken(const Endpoint& place, const Credentials& own, std::uint64_t purpose,
                 std::optional<Rank> expected, const Deadline& deadline) {
  Handshake handshake = Handshake::connect(place, &own, purpose, expected);
  const Deadline answer(std::min(kAnswer_s, deadline.seconds_left()));
  while (handshake.progress() == Handshake::State::under_way && !answer.passed()) {
    pollfd one{handshake.descriptor(), static_cast<short>(handshake.wants_to_write() ? POLLOUT : POLLIN), 0};
    ::poll(&one, 1, kGlance_ms);
    deadline.check();
  }
  return handshake;
}

}  // namespace

Visitor::Visitor(Options options) : options_(std::move(options)) {
  while (id_ == 0) fill_randomly(std::as_writable_bytes(std::span(&id_, 1)));
  options_.credentials.rank = kNewcomer;
  card_ = Card::own(id_, options_.own);
}

void Visitor::knock(const Deadline& deadline) {
  is_welcome_ = false;
  for (Pause pause(20'000, 0); !is_welcome_ && !seat_; pause.wait()) {
    if (visit_somebody(deadline))
      while (!is_welcome_ && !seat_ && hear(deadline)) {
      }
    deadline.check();
    if (deadline.passed())
      throw TimeoutError("join: no member of job '" + options_.job + "' has answered in time" +
                         (latest_failure_.empty() ? "" : ": " + latest_failure_));
  }
}

void Visitor::prepare(const Deadline& deadline) {
  if (seat_) return;
  try_the_ways(deadline);
  if (!neighbours_) join_neighbours(deadline);
}

visit::Seat Visitor::await_seat(const Deadline& deadline) {
  while (!seat_) {
    line_->put(FrameKind::message, visit::kReady, {});
    while (!seat_ && hear(deadline)) {
      deadline.check();
      if (deadline.passed())
        throw TimeoutError("join: no member of job '" + options_.job + "' has called grow() within " +
                           format_seconds(deadline.seconds()) + "; members call it where comm.is_called");
    }
    if (seat_) break;
    knock(deadline);
    prepare(deadline);
  }
  return *std::move(seat_);
}

/// The members in turn, beginning after the latest: most have no lobby, and end the connection. Where nobody listens any more at any place, the job is
/// over.
bool Visitor::visit_somebody(const Deadline& deadline) {
  std::vector<Endpoint> places;
  for (const visit::Member& member : members_)
    places.insert(places.end(), member.card.endpoints.begin(), member.card.endpoints.end());
  if (places.empty()) places = options_.members;
  refused_ = 0;
  for (std::size_t i = 0; i < places.size() && !deadline.passed(); ++i)
    if (visit_at(places[next_place_++ % places.size()], deadline)) return true;
  if (!members_.empty() && std::cmp_equal(refused_, places.size()))
    throw LostRankError("join: the job '" + options_.job + "' is over: none of its members listens any more");
  return false;
}

bool Visitor::visit_at(const Endpoint& place, const Deadline& deadline) {
  Handshake handshake =
      shaken(place, options_.credentials, Door::purpose_of(visit::kLobbyDoor, 0), {}, deadline);
  if (handshake.progress() != Handshake::State::proved) {
    latest_failure_ =
        handshake.refusal() != Refusal::none ? handshake.reason() : place.text() + " does not answer";
    if (handshake.error() == ECONNREFUSED) ++refused_;
    if (handshake.refusal() == Refusal::encryption) throw EncryptionError("join: " + handshake.reason());
    if (handshake.refusal() == Refusal::version) throw MismatchError("join: " + handshake.reason());
    for (const Refusal foreign : {Refusal::token, Refusal::job, Refusal::incarnation})
      if (handshake.refusal() == foreign) throw ArgumentError("join: " + handshake.reason());
    return false;
  }
  line_.emplace(handshake.take());
  heard_ = Clock::now();
  line_->put(FrameKind::message, visit::kKnock, Packer().put(id_).put_bytes(card_.packed()).take());
  return true;
}

/// False once the connection has ended.
bool Visitor::hear(const Deadline& deadline) {
  deadline.check();
  renew_lease();
  bool is_there = line_->flush();
  pollfd one{line_->descriptor(), POLLIN, 0};
  if (is_there && ::poll(&one, 1, kGlance_ms) > 0)
    is_there =
        line_->read([&](const FrameHead& head, std::span<const std::byte> content) { heed(head, content); });
  if (!refusal_.empty()) throw ArgumentError("join: job '" + options_.job + "' lets nobody in: " + refusal_);
  return is_there && Clock::now() - heard_ < options_.silence && !deadline.passed();
}

void Visitor::heed(const FrameHead& head, std::span<const std::byte> content) {
  heard_ = Clock::now();
  if (head.kind != FrameKind::message) return;
  if (head.topic == visit::kWelcome) return heed_welcome(content);
  if (head.topic == visit::kRefusal) refusal_ = Unpacker(content).get_text();
  if (head.topic == visit::kSeat) seat_ = visit::Seat::of(content);
}

void Visitor::heed_welcome(std::span<const std::byte> content) {
  Unpacker welcome(content);
  invitation_ = welcome.get_text();
  members_ = visit::get_members(&welcome);
  is_welcome_ = true;
}

void Visitor::renew_lease() {
  const Clock::time_point now = Clock::now();
  if (now < next_beat_) return;
  next_beat_ = now + options_.beat;
  line_->put(FrameKind::beat, 0, {});
}

/// A member that has just ended is no obstacle: others will leave it out.
void Visitor::try_the_ways(const Deadline& deadline) {
  for (const visit::Member& member : members_) {
    std::string why;
    bool is_reached = member.card.endpoints.empty();
    for (const Endpoint& place : member.card.endpoints) {
      if (is_reached) break;
      const Handshake handshake =
          shaken(place, options_.credentials, Door::purpose_of(visit::kLobbyDoor, 1), member.rank, deadline);
      is_reached = handshake.refusal() == Refusal::none || handshake.refusal() == Refusal::hung_up ||
                   handshake.error() == ECONNREFUSED;
      why = handshake.reason();
      renew_lease();
      line_->flush();
    }
    if (!is_reached)
      throw ArgumentError("join: expected a way to each member of job '" + options_.job +
                          "', found none to rank " + std::to_string(member.rank) + ": " + why);
  }
}

void Visitor::join_neighbours(const Deadline& deadline) {
  if (card_.head.can_share == 0) return;
  try {
    neighbours_ = LocalSession::enter_or_found({card_.memory_name(options_.job), options_.credentials.version,
                                                std::min(kAnswer_s, deadline.seconds_left()),
                                                [&] { deadline.check(); }});
  } catch (const Error&) {  // it goes on over the network
  }
}

}  // namespace hemiola
