// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/tcp_wire.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/peer_request.hpp"
#include "hemiola/runtime/wire/tcp/nic_shares.hpp"

namespace hemiola {
namespace {

/// The key of a new connection's event, beside those of the lines.
constexpr std::uint32_t kDoorKey = 0xffff'ffff;
/// Most that is slept while a connection is being made, of which the kernel does not tell everything.
constexpr int kConnectingSleep_us = 5000;

/// Between 65,536 ranks, 140 trillion messages each.
using Numbered = PeerRequest<47>;

/// A cut way shows after 0.6 s.
constexpr auto kBetweenLooksAtWays = std::chrono::milliseconds(50);
constexpr auto kFarewell = std::chrono::seconds(3);

/// Of some 0.4 µs: as long as waking a core that sleeps takes.
constexpr int kPolls = 80;
constexpr unsigned kReadsPerLook = 8;

/// Of the NICs that every rank has, by their numbers: the slowest rank's.
std::vector<std::uint32_t> common_speeds(const std::vector<TcpPeer>& peers) {
  std::vector<std::uint32_t> speeds;
  for (const NicAddresses& nic : peers.front().nics) speeds.push_back(nic.speed);
  for (const TcpPeer& peer : peers) {
    speeds.resize(std::min(speeds.size(), peer.nics.size()));
    for (std::size_t nic = 0; nic < speeds.size(); ++nic)
      speeds[nic] = std::min(speeds[nic], peer.nics[nic].speed);
  }
  return speeds;
}

/// A NIC's, and behind them those of the next ones.
std::vector<PairLink::Place> places_from(const std::vector<NicAddresses>& nics, std::size_t first) {
  std::vector<PairLink::Place> places;
  for (std::size_t i = 0; i < nics.size(); ++i) {
    const std::size_t nic = (first + i) % nics.size();
    for (const Endpoint& endpoint : nics[nic].endpoints) places.push_back({endpoint, nic});
  }
  return places;
}

}  // namespace

TcpWire::TcpWire(std::unique_ptr<Door> door, Rank self, const std::vector<TcpPeer>& peers)
    : self_(self),
      door_(std::move(door)),
      traits_{.messages = {.slice_bytes = 256 << 10, .join_bytes = 256 << 10},
              .carries_signatures = true,
              .carries_hints = true,
              .has_remains = false,  // finished bytes are the kernel's
              .waiting = {.polls = kPolls, .spins = 0, .yields = 0, .sleep_us = 5000}} {
  const std::vector<std::uint32_t> speeds = common_speeds(peers);
  const std::vector<std::size_t> nics = nic_of_each_line(speeds);
  lines_per_pair_ = nics.size();
  may_move_ = speeds.size() > 1;
  const auto own_places = places_from(peers[static_cast<std::size_t>(self)].nics, 0);
  for (Rank peer : indices<Rank>(static_cast<int>(peers.size()))) {
    const TcpPeer& to = peers[static_cast<std::size_t>(peer)];
    peers_.push_back({.world_rank = to.world_rank});
    for (std::uint32_t i = 0; i < lines_per_pair_; ++i) {
      const auto key = static_cast<std::uint32_t>(lines_.size());
      PairLink::Route route{.is_lower = self < peer,
                            .expected = to.world_rank,
                            .places = places_from(to.nics, nics[i]),
                            .purpose = Door::purpose_of(to.door, i),
                            .own = &door_->reception().credentials(),
                            .own_places = own_places};
      lines_.push_back(std::make_unique<Line>(peer, std::move(route), &poller_, key, may_move_));
    }
  }
  listed_.reserve(lines_.size());
  wakeable_ = this;
  poller_.watch_steadily(door_->listener(), kDoorKey);
  poller_.watch_steadily(door_->bell(), kDoorKey);
}

/// Over a cut way the kernel would go on in vain. Places where messages were to land may be gone.
TcpWire::~TcpWire() {
  if (!may_move_) return;
  is_leaving_ = true;
  const auto until = std::chrono::steady_clock::now() + kFarewell;
  const auto is_awaited = [&](const auto& line) {
    const StreamSocket& socket = *line->link.socket();
    return awaits_answer(line.get()) && !line->link.is_given_up() && (!socket || socket.is_open());
  };
  while (std::ranges::any_of(lines_, is_awaited) && std::chrono::steady_clock::now() < until) {
    try {
      progress();
      wait(1000);
    } catch (const Error&) {
      return;
    }
  }
}

std::size_t TcpWire::line_of(Rank peer, std::uint64_t number) const {
  HEMIOLA_CHECK(peer >= 0 && static_cast<std::size_t>(peer) < peers_.size() && peer != self_,
                "message to or from a rank that the wire does not have");
  return static_cast<std::size_t>(peer) * lines_per_pair_ + (number - 1) % lines_per_pair_;
}

TcpWire::Line& TcpWire::list(std::size_t index) {
  Line& line = *lines_[index];
  if (!line.is_listed) listed_.push_back(index);
  line.is_listed = true;
  return line;
}

Request TcpWire::send(Rank dst, const std::byte* data, std::size_t bytes, Source) {
  const std::size_t line = line_of(dst, peers_[static_cast<std::size_t>(dst)].sent + 1);
  list(line).out.post(tag_, data, bytes);
  Peer& peer = peers_[static_cast<std::size_t>(dst)];
  peer.sent_bytes += bytes;
  return Numbered::outgoing(dst, ++peer.sent);
}

Request TcpWire::receive(Rank src, const Landing& landing, std::size_t capacity) {
  const std::size_t line = line_of(src, peers_[static_cast<std::size_t>(src)].received + 1);
  list(line).in.post(landing, capacity);
  return Numbered::incoming(src, ++peers_[static_cast<std::size_t>(src)].received);
}

/// A message is done when those before it are, on all their lines: of each, as many as it has been given.
bool TcpWire::done(Request request) const {
  const Numbered numbered(request);
  const std::uint64_t number = numbered.number();
  const std::size_t first = numbered.peer() * lines_per_pair_;
  for (std::size_t i = 0; i < lines_per_pair_ && i < number; ++i) {
    const Line& line = *lines_[first + i];
    const std::uint64_t last = (number - 1 - i) / lines_per_pair_ + 1;
    if (numbered.is_incoming() ? !line.in.done(last) : !line.out.done(last)) return false;
  }
  return true;
}

bool TcpWire::progress() {
  if (go_on_with_listed()) return true;
  if (asks_itself()) return go_on_with_listed();
  return look(0) && go_on_with_listed();
}

/// Where one connection alone is waited for, it is read without asking epoll before: of three system calls a small message
/// takes two. Epoll knows of others at the door, and of a connection that can be written again, so it has its turn.
bool TcpWire::asks_itself() {
  if (is_leaving_ || listed_.size() != 1 || ++times_alone_ % kReadsPerLook == 0) return false;
  Line& line = *lines_[listed_.front()];
  return line.out.idle() && !line.in.idle() && line.link.socket()->ask_anew();
}

bool TcpWire::go_on_with_listed() {
  bool moved = false;
  for (std::size_t i = 0; i < listed_.size();) {
    Line& line = *lines_[listed_[i]];
    moved |= go_on(&line);
    if (line.has_posts() || line.is_under_way()) {
      ++i;
    } else {
      line.is_listed = false;
      listed_[i] = listed_.back();
      listed_.pop_back();
    }
  }
  return moved;
}

/// Whether there is news for the caller: bytes that have moved, a header, an end.
bool TcpWire::go_on(Line* line) {
  if (!is_leaving_) line->in.check_header();
  StreamSocket* const socket = line->link.socket();
  if (!*socket || line->has_news) {
    line->has_news = false;
    const bool was_given_up = line->link.is_given_up();
    if (!connect(line)) return line->link.is_given_up() && !was_given_up;
  }
  if (line->resumption && !resume(line)) return false;
  bool moved = line->out.progress(socket);
  if (is_leaving_) return moved;
  moved |= take_in(line);
  const bool has_just_ended = socket->ended() && !line->has_seen_end;
  line->has_seen_end = socket->ended();
  if (has_just_ended && may_move_ && socket->is_cut()) {
    move(line, line->link.epoch() + 1);
    return true;
  }
  if (has_just_ended) admit();  // the other may have reset, and come anew: then this end means nothing
  return moved || has_just_ended;
}

/// Whether there is a connection.
bool TcpWire::connect(Line* line) {
  StreamSocket* const socket = line->link.socket();
  const int before = socket->get();
  line->link.progress(!line->out.idle() || line->resumption);
  if (const std::uint64_t later = may_move_ ? line->link.later_epoch(first_epoch_ + kMoves) : 0) {
    move(line, later);  // as the other does
    line->link.progress(true);
  }
  if (*socket && socket->get() != before) line->is_new = true;
  return bool(*socket);
}

bool TcpWire::take_in(Line* line) try {
  StreamSocket* const socket = line->link.socket();
  const std::uint64_t before = line->in.byte_count();
  const bool moved = line->in.progress(socket, &tag_, &bounce_);
  const auto bytes = static_cast<std::size_t>(line->in.byte_count() - before);
  if (listener_ != nullptr && bytes > 0)
    listener_->came({.from = Rank{line->key / lines_per_pair_},
                     .stream = line->key,
                     .bytes = bytes,
                     .follows = line->in.follows(),
                     .is_amid = line->in.is_amid(),
                     .is_all = !socket->readable()},
                    now_ns());
  return moved;
} catch (const BadMessageError&) {
  if (line->in.is_garbled()) line->link.hang_up();
  throw;
}

bool TcpWire::watch_port(ArrivalListener* listener, double port_bytes_per_ns) {
  listener_ = listener;
  for (const auto& line : lines_) line->link.bound_queue(port_bytes_per_ns);
  return true;
}

bool TcpWire::look(int timeout_us) {
  const auto news = poller_.look(timeout_us);
  bool is_at_door = news.empty() && timeout_us > 0;  // nothing tells that somebody's time at the door is over
  for (const Poller::News& each : news) {
    if (each.key == kDoorKey) {
      is_at_door = true;
      continue;
    }
    Line& line = list(each.key);
    if (*line.link.socket() && line.link.socket()->get() == each.descriptor)
      line.link.socket()->note(each.events);
    else
      line.has_news = true;
  }
  if (is_at_door) admit();
  return !news.empty();
}

/// A connection that is of no use here is ended.
void TcpWire::admit() {
  for (ProvedConnection& arrival : door_->take()) {
    const auto peer = std::ranges::find(peers_, arrival.rank, &Peer::world_rank);
    if (peer == peers_.end() || arrival.purpose >= lines_per_pair_) continue;
    const auto index = static_cast<std::size_t>(peer - peers_.begin()) * lines_per_pair_ + arrival.purpose;
    Line& line = list(index);
    line.link.arrive(std::move(arrival.socket));
    line.has_news = true;
  }
}

bool TcpWire::arm(int* timeout_us) {
  if (may_move_) heed_cut_ways();
  const bool is_connecting =
      std::ranges::any_of(listed_, [&](std::size_t line) { return lines_[line]->is_under_way(); });
  if (is_connecting) *timeout_us = std::min(*timeout_us, kConnectingSleep_us);
  const bool was_idle = listed_.empty();
  if (go_on_with_listed()) return true;
  if (was_idle && look(0) && go_on_with_listed())
    return true;  // later events would wake us at once, again and again
  if (listener_ != nullptr && !is_leaving_) listener_->waits();
  return false;
}

/// Only the sender of bytes that do not get through can notice that.
void TcpWire::heed_cut_ways() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_at_ways_) return;
  next_look_at_ways_ = now + kBetweenLooksAtWays;
  for (const auto& line : lines_)
    if (is_cut(line.get())) move(line.get(), line->link.epoch() + 1);
}

/// Whether it is not known that the other end has all that has been sent.
bool TcpWire::awaits_answer(Line* line) {
  const StreamSocket& socket = *line->link.socket();
  if (socket && !line->resumption) line->out.heed_acknowledgements(socket);
  return line->out.awaits_acknowledgement() || line->resumption;
}

bool TcpWire::is_cut(Line* line) {
  const StreamSocket& socket = *line->link.socket();
  if (!socket) return line->link.is_cut();
  if (!awaits_answer(line) && !line->is_new) return false;
  line->is_new = line->is_new && socket.unacknowledged() > 0;
  return line->link.is_cut();
}

/// Lets go of the connection, and goes on over another NIC; in an epoch of connections in which the other end does so, too.
void TcpWire::move(Line* line, std::uint64_t epoch) {
  const std::size_t nic = line->link.nic();
  const Endpoint there = line->link.shun(nic);
  door_->reception().note(
      "messages to rank " + std::to_string(peers_[static_cast<std::size_t>(line->peer)].world_rank) + " at " +
      there.address() + " (NIC " + std::to_string(nic) + ") get no answer, and go on over another NIC");
  StreamSocket left = line->link.take();
  if (line->resumption)
    line->link.keep_open(line->resumption->leave(std::move(left)));
  else
    line->resumption = std::make_unique<Resumption>(std::move(left));
  line->link.reset(epoch);
  list(line->key).has_news = true;
  line->has_seen_end = false;
}

bool TcpWire::resume(Line* line) try {
  if (!line->resumption->progress(line->peer, line->link.socket(), &line->out, &line->in)) return false;
  line->resumption.reset();
  return true;
} catch (const BadMessageError&) {
  line->link.hang_up();
  throw;
}

void TcpWire::wait(int timeout_us) {
  if (!arm(&timeout_us)) look(timeout_us);
}

Payload TcpWire::payload(Rank peer) const {
  Payload payload{.sent = peers_[static_cast<std::size_t>(peer)].sent_bytes};
  const std::size_t first = static_cast<std::size_t>(peer) * lines_per_pair_;
  for (std::size_t i = 0; i < lines_per_pair_; ++i) payload.received += lines_[first + i]->in.payload_bytes();
  return payload;
}

std::optional<ForeignMessage> TcpWire::mismatch() const {
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (const auto tag = lines_[i]->in.foreign(tag_)) return ForeignMessage{Rank{i / lines_per_pair_}, *tag};
  return std::nullopt;
}

std::vector<LostRank> TcpWire::lost() const {
  std::vector<LostRank> lost;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (!lines_[i]->has_posts()) continue;  // a rank that has finished everything may go
    const PairLink& link = lines_[i]->link;
    const Rank gone = link.lacks_room() ? self_ : Rank{i / lines_per_pair_};
    const std::string reason = link.lost();
    if (!reason.empty() && (lost.empty() || lost.back().rank != gone)) lost.push_back({gone, reason});
  }
  return lost;
}

/// Both ends begin with the first line again; numbers go on, so that earlier messages count as done.
void TcpWire::reset(std::uint64_t epoch) {
  admit();
  first_epoch_ = epoch * kMoves;
  for (Peer& peer : peers_) {
    peer.sent = rounded_up(peer.sent, lines_per_pair_);
    peer.received = rounded_up(peer.received, lines_per_pair_);
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Peer& peer = peers_[i / lines_per_pair_];
    Line& line = list(i);
    line.out.forget(peer.sent / lines_per_pair_);
    line.in.forget(peer.received / lines_per_pair_);
    if (line.resumption) line.link.keep_open(line.resumption->take_left());
    line.resumption.reset();
    line.link.reset(first_epoch_);
    line.has_news = true;
    line.has_seen_end = false;
  }
}

}  // namespace hemiola
