// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/health/port_meter.hpp"

#include <algorithm>
#include <utility>

namespace hemiola {

PortMeter::PortMeter(Rank self, std::vector<PairSpeed> healthy)
    : self_(self), healthy_(std::move(healthy)), best_(healthy_.size(), 0.0F), pairs_(healthy_.size()) {}

PortMeter::Port& PortMeter::port(std::int32_t lane) {
  const auto index = static_cast<std::size_t>(lane);
  if (index >= ports_.size()) ports_.resize(index + 1);
  return ports_[index];
}

void PortMeter::posted(const MeteredMessage& message, std::int64_t now_ns) {
  port(message.lane).push_back({message.peer, now_ns, 0, 0});
}

void PortMeter::finished(const MeteredMessage& message, std::int64_t now_ns) {
  Port& p = port(message.lane);
  const auto at =
      std::find_if(p.begin(), p.end(), [&](const UnderWay& other) { return other.peer == message.peer; });
  const UnderWay own = *at;
  p.erase(at);
  const auto bytes = static_cast<double>(message.bytes);
  const auto taken_ns = static_cast<double>(now_ns - own.since_ns);
  for (UnderWay& other : p) {
    const auto shared_ns = static_cast<double>(now_ns - std::max(own.since_ns, other.since_ns));
    const double part = taken_ns > 0 ? bytes * shared_ns / taken_ns : bytes;
    other.carried += part;
    if (other.peer == message.peer) other.with_peer += part;
  }
  const PairSpeed& healthy = healthy_[static_cast<std::size_t>(message.peer)];
  if (bytes < kLeastLatencies * (healthy.latency_ns + healthy.message_ns) * healthy.bytes_per_ns) return;
  // Latency is not the port's fault: with it taken off, small messages and large ones tell the same.
  const double flowing_ns = taken_ns - healthy.message_ns - (message.sending ? 0 : healthy.latency_ns);
  const double healthy_bytes = std::max(1.0, flowing_ns * healthy.bytes_per_ns);
  const double with_peer = (own.with_peer + bytes) / healthy_bytes;
  note(message.peer, with_peer);
  PairShares& pair = pairs_[static_cast<std::size_t>(message.peer)];
  float& best = message.sending ? pair.to : pair.from;
  best = std::max(best, static_cast<float>(std::min(1.0, with_peer)));
  note(self_, (own.carried + bytes) / healthy_bytes);
}

void PortMeter::note(Rank rank, double share) {
  float& best = best_[static_cast<std::size_t>(rank)];
  best = std::max(best, static_cast<float>(std::min(1.0, share)));
  has_measured_ = true;
}

void PortMeter::clear() {
  std::fill(best_.begin(), best_.end(), 0.0F);
  std::fill(pairs_.begin(), pairs_.end(), PairShares{});
  has_measured_ = false;
  for (Port& p : ports_) p.clear();
}

}  // namespace hemiola
