// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/pair_link.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "hemiola/runtime/net/tcp_socket.hpp"

namespace hemiola {
namespace {

/// So long a host may take to answer at an address before the next one is tried.
constexpr auto kAnswerLimit = std::chrono::seconds(5);
/// The same where the next one is of another NIC: TCP asks twice.
constexpr auto kAnswerLimitBesideOthers = std::chrono::seconds(2);
/// So long it may be out of reach. (A rank that is only late is not: its kernel answers.)
constexpr auto kReachLimit = std::chrono::seconds(20);
constexpr auto kFirstPause = std::chrono::milliseconds(5);
constexpr int kLongestPauseDoublings = 6;

void say_epoch(ByteStream* socket, std::uint64_t epoch) {
  // Eight bytes have room in a new connection; where it has broken, reading will show it.
  [[maybe_unused]] const ssize_t sent = socket->send(&epoch, sizeof epoch);
}

enum class Heard { nothing, epoch, end };

Heard hear_epoch(ByteStream* socket, std::uint64_t* epoch) {
  const ssize_t there = socket->peek(epoch, sizeof *epoch);
  if (there == 0 || (there < 0 && errno != EAGAIN && errno != EINTR)) return Heard::end;
  if (there < static_cast<ssize_t>(sizeof *epoch)) return Heard::nothing;
  return socket->receive(epoch, sizeof *epoch) == there ? Heard::epoch : Heard::end;
}

}  // namespace

PairLink::PairLink(Route route, Poller* poller, std::uint32_t key)
    : route_(std::move(route)), poller_(poller), key_(key) {}

void PairLink::arrive(ByteStream socket) {
  poller_->watch(socket.get(), key_);
  arrivals_.push_back(std::move(socket));
}

void PairLink::progress(bool wanted) {
  heed_arrivals();
  heed_answer();
  heed_attempt();
  if (!socket_) use_kept();
  if (wanted && !socket_ && !attempt_ && !unanswered_ && lost_.empty() && Clock::now() >= retry_at_) start();
}

void PairLink::heed_arrivals() {
  for (std::size_t i = 0; i < arrivals_.size();) {
    std::uint64_t epoch = 0;
    const Heard heard = hear_epoch(&arrivals_[i], &epoch);
    if (heard == Heard::nothing) {
      ++i;
      continue;
    }
    ByteStream socket = std::move(arrivals_[i]);
    arrivals_.erase(arrivals_.begin() + static_cast<std::ptrdiff_t>(i));
    if (heard == Heard::epoch)
      place(std::move(socket), epoch);
    else
      close(std::move(socket));
  }
}

void PairLink::place(ByteStream socket, std::uint64_t epoch) {
  const bool own_goes_first = route_.is_lower && attempt_;
  if (epoch < epoch_)
    old_.push_back(std::move(socket));
  else if (epoch > epoch_ || own_goes_first)
    kept_.push_back({std::move(socket), epoch});
  else if (socket_)
    close(std::move(socket));
  else
    use_accepted(std::move(socket));
}

/// The lower rank says that it does, for which the higher one waits.
void PairLink::use_accepted(ByteStream socket) {
  if (route_.is_lower) say_epoch(&socket, epoch_);
  nic_ = own_nic(socket);
  use(std::move(socket));
}

std::size_t PairLink::own_nic(const ByteStream& socket) const {
  const Endpoint here = local_endpoint(socket.socket()).with_port(0);
  for (const Place& place : route_.own_places)
    if (place.endpoint.with_port(0) == here) return place.nic;
  return 0;
}

void PairLink::use_kept() {
  const auto kept = std::ranges::find(kept_, epoch_, &OfEpoch::epoch);
  if (kept == kept_.end() || (route_.is_lower && attempt_)) return;
  ByteStream socket = std::move(kept->socket);
  kept_.erase(kept);
  use_accepted(std::move(socket));
}

void PairLink::use(ByteStream socket) {
  abandon_attempt();
  if (unanswered_) close(std::move(unanswered_));
  socket_ = StreamSocket(std::move(socket));
  if (queue_bytes_per_ns_ > 0) socket_.bound_queue(queue_bytes_per_ns_);
  for (ByteStream& old : old_) close(std::move(old));
  old_.clear();
  std::erase_if(kept_, [&](OfEpoch& kept) {
    if (kept.epoch > epoch_) return false;
    close(std::move(kept.socket));
    return true;
  });
  retries_ = 0;
}

void PairLink::start() {
  attempt_ = Handshake::connect(route_.places[place_].endpoint, route_.own, route_.purpose, route_.expected);
  attempted_at_ = Clock::now();
  if (attempt_->descriptor() >= 0) poller_->watch(attempt_->descriptor(), key_);
  heed_attempt();
}

std::chrono::seconds PairLink::answer_limit() const {
  const bool has_other_nic =
      place_ + 1 < route_.places.size() && route_.places.back().nic != route_.places[place_].nic;
  return has_other_nic ? kAnswerLimitBesideOthers : kAnswerLimit;
}

void PairLink::heed_attempt() {
  if (!attempt_) return;
  switch (attempt_->progress()) {
    case Handshake::State::under_way:
      if (attempt_->is_connecting() && Clock::now() > attempted_at_ + answer_limit()) heed_failure();
      return;
    case Handshake::State::refused:
      return heed_failure();
    case Handshake::State::proved:
      break;
  }
  ByteStream socket = attempt_->take();
  attempt_.reset();
  nic_ = route_.places[place_].nic;
  say_epoch(&socket, epoch_);
  if (route_.is_lower)
    use(std::move(socket));
  else
    unanswered_ = std::move(socket);
}

void PairLink::heed_answer() {
  std::uint64_t epoch = 0;
  if (!unanswered_) return;
  switch (hear_epoch(&unanswered_, &epoch)) {
    case Heard::nothing:
      return;
    case Heard::epoch: {
      ByteStream socket = std::move(unanswered_);
      return use(std::move(socket));
    }
    case Heard::end:  // the lower rank has another, or was too busy with strangers
      close(std::move(unanswered_));
      return retry_later();
  }
}

/// Tries the next endpoint, or all of them again a little later; or gives up, where the other is not there.
void PairLink::heed_failure() {
  const Refusal refusal = attempt_->refusal();
  const std::string reason = attempt_->reason();
  const bool is_out_of_reach =
      refusal == Refusal::unreachable || refusal == Refusal::no_room || refusal == Refusal::none;
  all_have_refused_ = all_have_refused_ && attempt_->error() == ECONNREFUSED;
  abandon_attempt();
  if (first_failure_ == Clock::time_point{}) first_failure_ = Clock::now();
  if (is_out_of_reach && ++place_ < route_.places.size()) return start();
  const bool has_had_its_time = all_have_refused_ || Clock::now() > first_failure_ + kReachLimit;
  place_ = 0;
  all_have_refused_ = true;
  use_kept();
  if (socket_) return;
  if (refusal == Refusal::hung_up || (is_out_of_reach && !has_had_its_time)) return retry_later();
  lacks_room_ = refusal == Refusal::no_room;
  lost_ = (lacks_room_ ? "it has " : "") + reason;
}

void PairLink::retry_later() {
  retry_at_ = Clock::now() + kFirstPause * (1 << std::min(retries_, kLongestPauseDoublings));
  ++retries_;
}

void PairLink::abandon_attempt() {
  if (!attempt_) return;
  if (attempt_->descriptor() >= 0) poller_->forget(attempt_->descriptor());
  attempt_.reset();
}

void PairLink::close(ByteStream socket) {
  poller_->forget(socket.get());
}

void PairLink::reset(std::uint64_t epoch) {
  lost_ = lost();
  epoch_ = epoch;
  abandon_attempt();
  if (socket_) old_.push_back(socket_.take());
  if (unanswered_) old_.push_back(std::move(unanswered_));
  socket_ = {};
  unanswered_ = {};
  for (OfEpoch& kept : kept_)
    if (kept.epoch < epoch) old_.push_back(std::move(kept.socket));
  std::erase_if(kept_, [&](const OfEpoch& kept) { return kept.epoch < epoch; });
  retries_ = 0;
  retry_at_ = first_failure_ = {};
}

std::uint64_t PairLink::later_epoch(std::uint64_t limit) const {
  std::uint64_t latest = 0;
  for (const OfEpoch& kept : kept_)
    if (kept.epoch > epoch_ && kept.epoch < limit) latest = std::max(latest, kept.epoch);
  return latest;
}

bool PairLink::is_cut() const {
  return socket_ ? socket_.is_cut() : unanswered_ && StreamSocket::is_way_cut(unanswered_.get());
}

StreamSocket PairLink::take() {
  if (socket_) poller_->forget(socket_.get());
  return std::exchange(socket_, {});
}

void PairLink::keep_open(StreamSocket socket) {
  if (socket) old_.push_back(socket.take());
}

Endpoint PairLink::shun(std::size_t nic) {
  const auto shunned =
      std::ranges::stable_partition(route_.places, [&](const Place& place) { return place.nic != nic; });
  place_ = 0;
  return shunned.empty() ? route_.places.front().endpoint : shunned.front().endpoint;
}

void PairLink::hang_up() {
  close(socket_.take());
  socket_ = {};
}

void PairLink::bound_queue(double bytes_per_ns) {
  queue_bytes_per_ns_ = bytes_per_ns;
  if (socket_) socket_.bound_queue(bytes_per_ns);
}

std::string PairLink::lost() const {
  if (!lost_.empty()) return lost_;
  const bool has_newer = !arrivals_.empty() ||
                         std::ranges::any_of(kept_, [&](const OfEpoch& kept) { return kept.epoch > epoch_; });
  if (socket_ && socket_.ended() && !has_newer)
    return "it has closed its connection, or its process has ended";
  return "";
}

}  // namespace hemiola
