// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/ucx/ucx_wire.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/peer_request.hpp"

namespace hemiola {
namespace {

/// Between 65,536 ranks, 140 trillion messages each.
using Numbered = PeerRequest<47>;

/// A way that breaks may mean that the other has reset its wire, which it tells by other ways, and soon.
constexpr std::int64_t kGrace_ns = 2'000'000'000;
/// UCX may take so long to send its last messages, before the wire does without.
constexpr double kFlushLimit_s = 1;
/// So long endpoints may take to close.
constexpr double kCloseLimit_s = 1;

}  // namespace

UcxWire::UcxWire(UcxPlace place, Rank self, std::vector<UcxPeer> peers)
    : context_(std::move(place.context)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      own_key_(peers[static_cast<std::size_t>(self)].key),
      moment_{.self = self, .tag = &tag_},
      desk_(std::move(place.desk), &moment_, peers),
      traits_{.messages = {.slice_bytes = 256 << 10, .join_bytes = 256 << 10},
              .carries_signatures = true,
              .carries_hints = true,
              .waiting = {.spins = 0, .yields = 0, .sleep_us = 5000}} {
  for (std::size_t rank = 0; rank < peers.size(); ++rank)
    lines_.push_back(std::make_unique<Line>(this, Rank{rank}, std::move(peers[rank])));
  wakeable_ = this;
  take(std::move(place.worker));
}

/// Sent messages are still under way unless a failure has ended them. The end of a worker calls back its open requests,
/// so it comes only when it has nothing: a greeting to somebody who has gone would be such a thing.
UcxWire::~UcxWire() {
  const bool is_orderly = std::ranges::all_of(
      lines_, [](const auto& line) { return line->is_idle() && line->broken == ucp::Status::ok; });
  if (is_orderly && worker_) {
    const bool has_flushed = worker_->flush(kFlushLimit_s);
    const bool is_greeting =
        std::ranges::any_of(lines_, [](const auto& line) { return line->endpoint.is_greeting(); });
    if (moment_.in_flight == 0 && !is_greeting) UcxWorker::end(std::move(worker_), has_flushed);
  }
  if (worker_) retire_worker();
  UcxWorker::end(std::move(retired_), is_first_epoch());
}

void UcxWire::watch(int descriptor) const {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0 || errno == EEXIST) return;
  throw LostRankError(std::string("cannot wait for messages of other ranks by UCX: ") + std::strerror(errno) +
                      kRaiseFileLimit);
}

void UcxWire::take(std::unique_ptr<UcxWorker> worker) {
  worker_ = std::move(worker);
  worker_->on_arrival(has_arrived, this);
  watch(worker_->descriptor());
}

/// Only now, since a rank that gives up resets and does not go on.
void UcxWire::come_to_epoch() try {
  take(std::make_unique<UcxWorker>(context_));
  desk_.announce(worker_->address());
} catch (const ArgumentError& e) {
  throw LostRankError(std::string(e.what()) + kRaiseFileLimit + " (docs/reference/wires.md)");
}

UcxWire::Line& UcxWire::line_of(Rank peer) const {
  HEMIOLA_CHECK(peer >= 0 && static_cast<std::size_t>(peer) < lines_.size() && peer != moment_.self,
                "message to or from a rank that the wire does not have");
  return *lines_[static_cast<std::size_t>(peer)];
}

void UcxWire::open(Line* line) {
  if (line->is_opened()) return;
  const Bytes* const address = is_first_epoch() ? &line->address : desk_.address_of(line->peer);
  if (address != nullptr) line->open(*address);
}

void UcxWire::list(Line* line) {
  if (!line->is_listed) listed_.push_back(line);
  line->is_listed = true;
}

Request UcxWire::send(Rank dst, const std::byte* data, std::size_t bytes, Source) {
  Line& line = line_of(dst);
  if (!worker_) come_to_epoch();
  open(&line);
  line.sent_bytes += bytes;
  const Request request = Numbered::outgoing(dst, line.out.post(data, bytes));
  if (line.endpoint.is_open())
    line.out.begin(line.endpoint);
  else
    list(&line);
  return request;
}

Request UcxWire::receive(Rank src, const Landing& landing, std::size_t capacity) {
  return Numbered::incoming(src, line_of(src).in.post(landing, capacity));
}

bool UcxWire::done(Request request) const {
  const Numbered numbered(request);
  const Line& line = *lines_[numbered.peer()];
  return numbered.is_incoming() ? line.in.done(numbered.number()) : line.out.done(numbered.number());
}

/// A sender without the key is no rank of this group, or of a group that is gone.
ucp::Status UcxWire::has_arrived(void* argument, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp::ActiveMessageParams* params) {
  auto* const wire = static_cast<UcxWire*>(argument);
  UcxArrival arrival{.bytes = bytes, .data = data};
  if (header_bytes < kUcxProofBytes) return ucp::Status::ok;
  std::memcpy(&arrival.header, header, std::min(header_bytes, sizeof arrival.header));
  const std::size_t sender = arrival.header.sender;
  if (arrival.header.key != wire->own_key_ || sender >= wire->lines_.size() ||
      Rank{sender} == wire->moment_.self)
    return ucp::Status::ok;
  Line* const line = wire->lines_[sender].get();
  if (header_bytes != sizeof arrival.header || !arrival.header.is_sound()) {
    line->has_sent_nonsense = wire->moment_.has_moved = true;
    wire->list(line);
    return ucp::Status::ok;
  }
  if (arrival.header.epoch != wire->moment_.epoch) return ucp::Status::ok;
  arrival.is_fetched = (params->attributes & ucp::ActiveMessageParams::kRendezvous) != 0;
  const bool may_be_kept = (params->attributes & ucp::ActiveMessageParams::kMayBeKept) != 0;
  const bool is_kept = line->in.arrive(arrival, may_be_kept);
  wire->list(line);
  return is_kept ? ucp::Status::in_progress : ucp::Status::ok;
}

void UcxWire::has_failed(void* argument, ucp::Endpoint*, ucp::Status status) {
  auto* const line = static_cast<Line*>(argument);
  line->note_break(status);
  line->wire->moment_.has_moved = true;
}

bool UcxWire::progress() {
  if (!worker_) come_to_epoch();
  if (!is_first_epoch()) desk_.progress();
  worker_->progress();
  land();
  return std::exchange(moment_.has_moved, false);
}

/// A sender learns that its way here has broken only if there is a way from here, too.
void UcxWire::land() {
  for (std::size_t i = 0; i < listed_.size();) {
    Line* const line = listed_[i];
    if (line->has_sent_nonsense)
      throw BadMessageError(line->peer, "a message over UCX whose header no rank writes");
    open(line);
    if (line->endpoint.is_open() && line->out.has_waiting()) {
      line->out.begin(line->endpoint);
      moment_.has_moved = true;
    }
    line->in.land(worker_->get(), line->endpoint.tells_of_end());
    if (line->in.has_arrivals() || !line->is_opened()) {
      ++i;
    } else {
      line->is_listed = false;
      listed_[i] = listed_.back();
      listed_.pop_back();
    }
  }
}

bool UcxWire::arm(int*) {
  return progress() || !worker_->arm() || (!is_first_epoch() && !desk_.arm());
}

void UcxWire::wait(int timeout_us) {
  if (arm(&timeout_us)) return;
  pollfd event{events_.get(), POLLIN, 0};
  const timespec timeout{timeout_us / 1'000'000, timeout_us % 1'000'000 * 1000L};
  ::ppoll(&event, 1, &timeout, nullptr);
}

std::optional<ForeignMessage> UcxWire::mismatch() const {
  for (std::size_t rank = 0; rank < lines_.size(); ++rank)
    if (const auto tag = lines_[rank]->in.foreign()) return ForeignMessage{Rank{rank}, *tag};
  return std::nullopt;
}

std::vector<LostRank> UcxWire::lost() const {
  std::vector<LostRank> lost;
  for (std::size_t rank = 0; rank < lines_.size(); ++rank) {
    Line& line = *lines_[rank];
    if (line.is_idle()) continue;  // a rank that has finished everything may go
    if (!line.endpoint.why_not().empty()) lost.push_back({Rank{rank}, line.endpoint.why_not()});
    for (const ucp::Status failure : {line.out.failure(), line.in.failure(), desk_.failure(Rank{rank})})
      if (failure != ucp::Status::ok) line.note_break(failure);
    if (line.broken == ucp::Status::ok || now_ns() - line.broken_ns < kGrace_ns) continue;
    lost.push_back({Rank{rank}, "UCX says: " + context_->library().text_of(line.broken)});
  }
  return lost;
}

/// Nobody lets it make progress any more, so it does nothing, and its late messages wake nobody; but it goes only at
/// the next reset, if UCX survives that, since it ends a process over the end of a worker to which that is just
/// connecting or sending.
void UcxWire::retire_worker() {
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, worker_->descriptor(), nullptr);
  UcxWorker::end(std::move(retired_), false);
  retired_ = end_requests() ? std::move(worker_) : nullptr;
  (void)worker_.release();
  moment_.in_flight = 0;
}

/// Of the worker, as far as UCX can. Returns whether all have come to their end: a worker that still has some must stay until the
/// process ends, since its requests would call back, and 1.13 ends the process over them.
bool UcxWire::end_requests() {
  std::vector<UcxEndpoint*> closing;
  bool may_all_close = true;
  for (const auto& line : lines_) {
    if (!line->endpoint.is_open()) continue;
    may_all_close = may_all_close && line->endpoint.stands();
    if (!line->endpoint.may_close()) continue;
    line->endpoint.close();
    closing.push_back(&line->endpoint);
  }
  const Deadline deadline(kCloseLimit_s);
  for (Pause pause(100); !closing.empty() && !deadline.passed(); pause.wait()) {
    worker_->progress();
    std::erase_if(closing, [](UcxEndpoint* endpoint) { return endpoint->is_closed(); });
  }
  return may_all_close && closing.empty() && moment_.in_flight == 0;
}

/// Nothing may touch the caller's memory afterwards. A rank that still sends to the retiring worker is in an epoch that
/// is over.
void UcxWire::reset(std::uint64_t epoch) {
  if (worker_) retire_worker();
  moment_.epoch = epoch;
  watch(desk_.descriptor());
  listed_.clear();
  for (const auto& line : lines_) {
    line->endpoint = {};
    line->out.forget();
    line->in.forget();
    line->broken = ucp::Status::ok;
    line->is_listed = line->has_sent_nonsense = false;
  }
}

Payload UcxWire::payload(Rank peer) const {
  const Line& line = line_of(peer);
  return {line.sent_bytes, line.in.payload_bytes()};
}

std::string UcxWire::carrier(Rank peer) const {
  Line& line = line_of(peer);
  if (is_first_epoch() && worker_ && !line.is_opened()) line.open(line.address);
  if (!line.endpoint.is_open()) return "ucx: " + line.endpoint.why_not();
  std::string names;
  for (const std::string& name : line.endpoint.transports()) names += (names.empty() ? ": " : ", ") + name;
  return "ucx" + names;
}

}  // namespace hemiola
