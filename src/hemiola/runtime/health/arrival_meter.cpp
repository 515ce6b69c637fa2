#include "hemiola/runtime/health/arrival_meter.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace hemiola {

ArrivalMeter::ArrivalMeter(Rank self, std::vector<double> healthy)
    : self_(self),
      healthy_(std::move(healthy)),
      from_(healthy_.size()),
      best_(2 * healthy_.size()),
      pairs_(healthy_.size()) {}

void ArrivalMeter::came(const ArrivedBytes& arrived, std::int64_t now_ns) {
  if (arrived.stream >= streams_.size()) streams_.resize(arrived.stream + 1);
  Stream& stream = streams_[arrived.stream];
  const auto bytes = static_cast<double>(arrived.bytes);
  if (port_since_ns_ == kNever) port_since_ns_ = now_ns;
  port_.now.taken_ns = static_cast<double>(now_ns - port_since_ns_);
  if (stream.emptied_ns >= port_since_ns_) port_.now.bytes += bytes;
  conclude(&port_, self_);
  if (port_.now.taken_ns == 0) port_since_ns_ = now_ns;
  const bool is_awaited = stream.waits < waits_;
  if (stream.is_amid || is_awaited) {
    Run& way = from_[static_cast<std::size_t>(arrived.from)];
    const auto since_ns = static_cast<double>(now_ns - stream.emptied_ns);
    const double least_ns = bytes / healthy_[static_cast<std::size_t>(arrived.from)];
    way.now.bytes += bytes;
    way.now.taken_ns += stream.is_amid ? since_ns : std::min(since_ns, least_ns);
    conclude(&way, arrived.from);
  }
  stream.waits = arrived.is_all ? waits_ : kNoWait;
  // Once time counts, what is read and what has come differ by no more than one reading.
  if (arrived.is_all || stream.is_amid || is_awaited) stream.emptied_ns = now_ns;
  stream.is_amid = arrived.is_amid && (arrived.is_all || stream.is_amid || is_awaited);
}

void ArrivalMeter::conclude(Run* run, Rank port) {
  const double healthy = healthy_[static_cast<std::size_t>(port)];
  const auto [bytes, taken_ns] = run->now;
  if (taken_ns < kLeast_ns || taken_ns * healthy < kLeastBytes) return;
  run->shares.push_back(static_cast<float>(std::min(1.0, bytes / (taken_ns * healthy))));
  run->now = {};
  has_measured_ = true;
}

float ArrivalMeter::figure_of(const Run& run) {
  const std::size_t count = run.shares.size();
  if (count == 0) return 0;
  std::vector<float> best = run.shares;
  std::ranges::sort(best, std::greater());
  return best[count < kLeastLeftOut ? 0 : std::max<std::size_t>(1, count / kLeftOut)];
}

std::span<const float> ArrivalMeter::shares() const {
  float own = figure_of(port_);
  for (std::size_t peer = 0; peer < from_.size(); ++peer) {
    float& out = best_[from_.size() + peer] = figure_of(from_[peer]);
    own = std::max(own, out);
  }
  best_[static_cast<std::size_t>(self_)] = own;
  return best_;
}

std::span<const PortGauge::PairShares> ArrivalMeter::pairs() const {
  std::ranges::transform(from_, pairs_.begin(), [](const Run& run) { return PairShares{0, figure_of(run)}; });
  return pairs_;
}

void ArrivalMeter::clear() {
  for (Run& run : from_) run.shares.clear();
  port_ = {};
  port_since_ns_ = kNever;
  std::ranges::fill(streams_, Stream{});
  has_measured_ = false;
}

}  // namespace hemiola
