#include "hemiola/runtime/wire/ucx/ucx_wire.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// A request is the peer, the direction, and the message's number between the two.
constexpr int kNumberBits = 47;
constexpr int kPeerShift = kNumberBits + 1;
constexpr std::uint64_t kIncoming = std::uint64_t{1} << kNumberBits;

Request request_of(Rank peer, std::uint64_t direction, std::uint64_t number) {
  return Request{static_cast<std::uint64_t>(peer) << kPeerShift | direction | number};
}

/// A way that breaks may mean that the other has reset its wire, which it tells by other ways, and soon.
constexpr std::int64_t kGrace_ns = 2'000'000'000;
/// So long UCX may take to give requests back, or to send what it still has, before the wire does without.
constexpr double kCloseLimit_s = 5;
constexpr double kFlushLimit_s = 1;

}  // namespace

UcxWire::UcxWire(std::unique_ptr<UcxWorker> worker, Rank self, std::vector<UcxPeer> peers)
    : worker_(std::move(worker)),
      own_key_(peers[static_cast<std::size_t>(self)].key),
      moment_{.self = self},
      traits_{.messages = {.slice_bytes = 256 << 10, .join_bytes = 256 << 10},
              .carries_signatures = true,
              .waiting = {.spins = 0, .yields = 0, .sleep_us = 5000}} {
  for (std::size_t rank = 0; rank < peers.size(); ++rank)
    lines_.push_back(std::make_unique<Line>(this, Rank{rank}, std::move(peers[rank])));
  const ucp::HandlerParams params{.field_mask = ucp::HandlerParams::kId | ucp::HandlerParams::kFlags |
                                                ucp::HandlerParams::kCallback | ucp::HandlerParams::kArgument,
                                  .id = UcxSender::kMessageId,
                                  .flags = ucp::HandlerParams::kWholeMessages,
                                  .callback = has_arrived,
                                  .argument = this};
  const ucp::Status status = worker_->functions().worker_set_am_recv_handler(worker_->get(), &params);
  HEMIOLA_CHECK(status == ucp::Status::ok, "UCX takes no handler: " + worker_->library().text_of(status));
}

/// What has been sent is still under way where nothing else has gone wrong.
UcxWire::~UcxWire() {
  const bool is_orderly = std::ranges::all_of(
      lines_, [](const auto& line) { return line->is_idle() && line->broken == ucp::Status::ok; });
  if (is_orderly) worker_->flush(kFlushLimit_s);
  worker_.reset();
}

UcxWire::Line& UcxWire::line_of(Rank peer) const {
  HEMIOLA_CHECK(peer >= 0 && static_cast<std::size_t>(peer) < lines_.size() && peer != moment_.self,
                "message to or from a rank that the wire does not have");
  return *lines_[static_cast<std::size_t>(peer)];
}

void UcxWire::open(Line* line) const {
  if (line->endpoint.is_open() || !line->endpoint.why_not().empty()) return;
  line->endpoint.open(worker_.get(), line->peer.address, has_failed, line);
  if (line->endpoint.is_open()) line->endpoint.greet(UcxSender::kMessageId);
}

Request UcxWire::send(Rank dst, const std::byte* data, std::size_t bytes, Source) {
  Line& line = line_of(dst);
  open(&line);
  return request_of(dst, 0, line.out.post(&line.endpoint, data, bytes));
}

Request UcxWire::receive(Rank src, const Landing& landing, std::size_t capacity) {
  return request_of(src, kIncoming, line_of(src).in.post(landing, capacity));
}

bool UcxWire::done(Request request) const {
  const auto bits = static_cast<std::uint64_t>(request);
  const std::uint64_t number = bits & (kIncoming - 1);
  const Line& line = *lines_[bits >> kPeerShift];
  return (bits & kIncoming) != 0 ? line.in.done(number) : line.out.done(number);
}

/// Whoever does not know the key is no rank of this group, or of a group that is gone.
ucp::Status UcxWire::has_arrived(void* argument, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp::ActiveMessageParams* params) {
  auto* const wire = static_cast<UcxWire*>(argument);
  UcxArrival arrival{.bytes = bytes, .data = data};
  if (header_bytes != sizeof arrival.header) return ucp::Status::ok;
  std::memcpy(&arrival.header, header, sizeof arrival.header);
  const std::size_t sender = arrival.header.sender;
  if (arrival.header.key != wire->own_key_ || sender >= wire->lines_.size() ||
      Rank{sender} == wire->moment_.self)
    return ucp::Status::ok;
  arrival.is_fetched = (params->attributes & ucp::ActiveMessageParams::kRendezvous) != 0;
  const bool may_be_kept = (params->attributes & ucp::ActiveMessageParams::kMayBeKept) != 0;
  Line* const line = wire->lines_[sender].get();
  const bool is_kept = line->in.arrive(arrival, may_be_kept);
  if (!line->is_listed) wire->listed_.push_back(line);
  line->is_listed = true;
  return is_kept ? ucp::Status::in_progress : ucp::Status::ok;
}

void UcxWire::has_failed(void* argument, ucp::Endpoint*, ucp::Status status) {
  auto* const line = static_cast<Line*>(argument);
  line->note_break(status);
  line->wire->moment_.has_moved = true;
}

bool UcxWire::progress() {
  worker_->progress();
  land();
  return std::exchange(moment_.has_moved, false);
}

/// Whoever has sent something is told when its own way here breaks only if there is one from here, too.
void UcxWire::land() {
  for (std::size_t i = 0; i < listed_.size();) {
    Line* const line = listed_[i];
    open(line);
    line->in.land(line->endpoint.is_open() && line->endpoint.can_force());
    if (line->in.has_arrivals()) {
      ++i;
    } else {
      line->is_listed = false;
      listed_[i] = listed_.back();
      listed_.pop_back();
    }
  }
}

bool UcxWire::arm(int*) {
  return progress() || !worker_->arm();
}

void UcxWire::wait(int timeout_us) {
  if (arm(&timeout_us)) return;
  pollfd event{worker_->descriptor(), POLLIN, 0};
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
    if (line.is_idle()) continue;  // whoever is through with everything may go
    if (!line.endpoint.why_not().empty()) lost.push_back({Rank{rank}, line.endpoint.why_not()});
    for (const ucp::Status failure : {line.out.failure(), line.in.failure()})
      if (failure != ucp::Status::ok) line.note_break(failure);
    if (line.broken == ucp::Status::ok || now_ns() - line.broken_ns < kGrace_ns) continue;
    lost.push_back({Rank{rank}, "UCX says: " + worker_->library().text_of(line.broken)});
  }
  return lost;
}

/// Nothing may touch the caller's memory afterwards, so everything under way is taken back, with the endpoints that it goes
/// over; the next message opens new ones.
void UcxWire::reset(std::uint64_t epoch) {
  moment_.epoch = epoch;
  for (const auto& line : lines_) {
    line->out.forget();
    line->in.forget();
  }
  close_all();
  for (const auto& line : lines_) line->broken = ucp::Status::ok;
}

/// But those that cannot be closed by force: what goes over these is a copy, and its epoch is over.
void UcxWire::close_all() {
  std::vector<UcxEndpoint*> closing;
  for (const auto& line : lines_) {
    if (!line->endpoint.is_open() || !line->endpoint.can_force()) continue;
    line->endpoint.close();
    closing.push_back(&line->endpoint);
  }
  const Deadline deadline(kCloseLimit_s);
  const auto is_over = [&] {
    std::erase_if(closing, [](UcxEndpoint* endpoint) { return endpoint->is_closed(); });
    return closing.empty() && moment_.in_flight == 0;
  };
  for (Pause pause(100); !is_over(); pause.wait()) {
    worker_->progress();
    if (deadline.passed())
      throw LostRankError("UCX " + worker_->library().version() + " has not let go of " +
                          std::to_string(moment_.in_flight) + " messages' memory within " +
                          std::to_string(int(kCloseLimit_s)) + " s after a failure; end this process");
  }
}

std::string UcxWire::carrier(Rank peer) const {
  Line& line = line_of(peer);
  open(&line);
  if (!line.endpoint.is_open()) return "ucx: " + line.endpoint.why_not();
  std::string names;
  for (const std::string& name : line.endpoint.transports()) names += (names.empty() ? ": " : ", ") + name;
  return "ucx" + names;
}

}  // namespace hemiola
