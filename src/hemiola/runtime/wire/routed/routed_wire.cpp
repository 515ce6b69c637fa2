// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/routed/routed_wire.hpp"

#include <time.h>

#include <algorithm>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

/// A request is the inner wire's, with the wire in the highest bits.
constexpr int kWireShift = 62;
constexpr std::uint64_t kInnerRequest = (std::uint64_t{1} << kWireShift) - 1;

Request mark(int wire, Request request) {
  const auto bits = static_cast<std::uint64_t>(request);
  HEMIOLA_CHECK((bits & ~kInnerRequest) == 0, "a wire's request needs more bits than a routed one has left");
  return Request{static_cast<std::uint64_t>(wire) << kWireShift | bits};
}

/// A wire that is asked through the kernel is asked less often than one in shared memory.
constexpr int kAskedEvery = 8;
/// A wire without a descriptor is looked at again after so long.
constexpr int kShortNap_us = 100;

/// The same on every rank, with any of the wires: both ends of a pair cut messages alike. A waiting rank sleeps at
/// once: on a busy machine a core that is given away for a moment comes back after milliseconds, and news wakes sooner.
WireTraits traits_of(const std::vector<RoutedWire::Inner>& inner, const std::vector<int>& route) {
  WireTraits traits{.messages = {.slice_bytes = 128 << 10, .join_bytes = 128 << 10},
                    .carries_signatures = true,
                    .carries_hints = true,
                    .has_remains = false,
                    .waiting = {.spins = 100, .yields = 0, .sleep_us = 5000}};
  for (const RoutedWire::Inner& each : inner) {
    const WireTraits& own = each.wire->traits();
    traits.groups_in_flight = std::min(traits.groups_in_flight, own.groups_in_flight);
    traits.land_at_once |= own.land_at_once;
    traits.carries_signatures &= own.carries_signatures;
    traits.carries_hints &= own.carries_hints;
    traits.has_remains |= own.has_remains;
    traits.waiting.polls = std::max(traits.waiting.polls, own.waiting.polls);
    traits.waiting.spins = std::min(traits.waiting.spins, own.waiting.spins);
    traits.arrival_delay = std::max(traits.arrival_delay, own.arrival_delay);
  }
  for (const int wire : route)
    traits.ports.sending.push_back(wire < 0 ? 0 : inner[static_cast<std::size_t>(wire)].port);
  traits.ports.receiving = traits.ports.sending;
  return traits;
}

}  // namespace

class RoutedWire::Relay final : public ArrivalListener {
 public:
  Relay(const std::vector<Rank>* ranks, ArrivalListener* listener) : ranks_(ranks), listener_(listener) {}
  void came(const ArrivedBytes& arrived, std::int64_t now_ns) override {
    ArrivedBytes here = arrived;
    here.from = (*ranks_)[static_cast<std::size_t>(arrived.from)];
    listener_->came(here, now_ns);
  }
  void waits() override { listener_->waits(); }

 private:
  const std::vector<Rank>* ranks_;
  ArrivalListener* listener_;
};

RoutedWire::RoutedWire(std::vector<Inner> inner, std::vector<int> route)
    : inner_(std::move(inner)), ways_(route.size()), traits_(traits_of(inner_, route)) {
  HEMIOLA_CHECK(inner_.size() <= 4, "a routed wire has two bits to tell its wires apart");
  for (std::size_t rank = 0; rank < route.size(); ++rank) {
    if (route[rank] < 0) continue;
    const std::vector<Rank>& there = inner_[static_cast<std::size_t>(route[rank])].ranks;
    ways_[rank] = {route[rank], Rank{std::ranges::find(there, Rank{rank}) - there.begin()}};
  }
  for (Inner& each : inner_) {
    Wakeable* const wakeable = each.wire->wakeable();
    descriptors_.push_back(wakeable != nullptr ? wakeable->wake_descriptor() : -1);
  }
}

const RoutedWire::Way& RoutedWire::way_to(Rank rank) const {
  HEMIOLA_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < ways_.size() &&
                    ways_[static_cast<std::size_t>(rank)].wire >= 0,
                "message to or from a rank that the wire does not have");
  return ways_[static_cast<std::size_t>(rank)];
}

Request RoutedWire::send(Rank dst, const std::byte* data, std::size_t bytes, Source source) {
  const Way& way = way_to(dst);
  Wire& wire = wire_of(way);
  return mark(way.wire, lending_tag(wire, [&] { return wire.send(way.there, data, bytes, source); }));
}

Request RoutedWire::receive(Rank src, const Landing& landing, std::size_t capacity) {
  const Way& way = way_to(src);
  return mark(way.wire, wire_of(way).receive(way.there, landing, capacity));
}

bool RoutedWire::done(Request request) const {
  const auto bits = static_cast<std::uint64_t>(request);
  return inner_[bits >> kWireShift].wire->done(Request{bits & kInnerRequest});
}

/// The error names the sender of impossible bytes by its number here.
template <typename Call>
bool RoutedWire::named(const Inner& each, const Call& call) try {
  return lending_tag(*each.wire, call);
} catch (const BadMessageError& e) {
  throw BadMessageError(each.ranks[static_cast<std::size_t>(e.sender)], e.what_came);
}

bool RoutedWire::progress() {
  const bool asks_all = inner_.size() == 1 || calls_++ % kAskedEvery == 0;
  bool moved = false;
  for (Inner& each : inner_)
    if (asks_all || each.wire->traits().waiting.spins > 0)
      moved |= named(each, [&] { return each.wire->progress(); });
  if (moved) calls_ = 0;
  return moved;
}

/// Each wire is told before this rank looks a last time, so that no news falls between.
void RoutedWire::wait(int timeout_us) {
  polled_.clear();
  bool moved = false;
  for (std::size_t i = 0; i < inner_.size(); ++i) {
    polled_.push_back({descriptors_[i], POLLIN, 0});
    if (descriptors_[i] < 0) timeout_us = std::min(timeout_us, kShortNap_us);
    Wire& wire = *inner_[i].wire;
    moved |= named(inner_[i], [&] {
      return wire.wakeable() != nullptr ? wire.wakeable()->arm(&timeout_us) : wire.progress();
    });
  }
  if (!moved) {
    const timespec timeout{timeout_us / 1'000'000, timeout_us % 1'000'000 * 1000L};
    ::ppoll(polled_.data(), polled_.size(), &timeout, nullptr);
  }
  for (Inner& each : inner_)
    if (each.wire->wakeable() != nullptr) each.wire->wakeable()->disarm();
  calls_ = 0;
}

std::optional<ForeignMessage> RoutedWire::mismatch() const {
  for (const Inner& each : inner_) {
    lend_tag(*each.wire);
    if (auto foreign = each.wire->mismatch()) {
      foreign->peer = each.ranks[static_cast<std::size_t>(foreign->peer)];
      return foreign;
    }
  }
  return std::nullopt;
}

std::vector<LostRank> RoutedWire::lost() const {
  std::vector<LostRank> all;
  for (const Inner& each : inner_)
    for (LostRank& lost : each.wire->lost())
      all.push_back({each.ranks[static_cast<std::size_t>(lost.rank)], std::move(lost.reason)});
  return all;
}

void RoutedWire::reset(std::uint64_t epoch) {
  for (Inner& each : inner_) each.wire->reset(epoch);
}

std::string RoutedWire::carrier(Rank peer) const {
  const Way& way = way_to(peer);
  return inner_[static_cast<std::size_t>(way.wire)].wire->carrier(way.there);
}

Payload RoutedWire::payload(Rank peer) const {
  const Way& way = way_to(peer);
  return inner_[static_cast<std::size_t>(way.wire)].wire->payload(way.there);
}

/// Of one of the inner wires: those of shared memory have no ports.
bool RoutedWire::watch_port(ArrivalListener* listener, double port_bytes_per_ns) {
  for (Inner& each : inner_) {
    auto relay = std::make_unique<Relay>(&each.ranks, listener);
    if (!each.wire->watch_port(relay.get(), port_bytes_per_ns)) continue;
    relays_.push_back(std::move(relay));
    return true;
  }
  return false;
}

}  // namespace hemiola
