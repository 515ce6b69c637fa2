// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/health/arrival_meter.hpp"

#include <algorithm>
#include <utility>

namespace hemiola {

ArrivalMeter::ArrivalMeter(Rank self, RankPorts ports, std::shared_ptr<std::byte> memory)
    : ports_(std::move(ports)),
      own_(ports_.port[static_cast<std::size_t>(self)]),
      accounts_(ports_.healthy, static_cast<std::size_t>(own_), std::move(memory)),
      best_(2 * ports_.port.size()),
      pairs_(ports_.port.size()) {}

void ArrivalMeter::came(const ArrivedBytes& arrived, std::int64_t now_ns) {
  if (arrived.stream >= streams_.size()) streams_.resize(arrived.stream + 1);
  Stream& stream = streams_[arrived.stream];
  const auto port = static_cast<std::size_t>(ports_.port[static_cast<std::size_t>(arrived.from)]);
  const auto bytes = static_cast<double>(arrived.bytes);
  const bool goes_on =
      stream.is_amid || (arrived.follows && stream.emptied_ns != PortAccounts::Arrival::kNever);
  const bool is_awaited = stream.waits < waits_;
  PortAccounts::Arrival arrival{
      .port = port, .bytes = bytes, .now_ns = now_ns, .emptied_ns = stream.emptied_ns};
  if (goes_on) {
    arrival.since_ns = stream.emptied_ns;
  } else if (is_awaited) {
    const auto least_ns = static_cast<std::int64_t>(bytes / ports_.healthy[port]);
    arrival.since_ns = std::max(stream.emptied_ns, now_ns - least_ns);
  }
  accounts_.note(arrival);
  stream.waits = arrived.is_all ? waits_ : kNoWait;
  // Once time counts, the bytes read and the bytes that have come differ by no more than one reading.
  if (arrived.is_all || goes_on || is_awaited) stream.emptied_ns = now_ns;
  stream.is_amid = arrived.is_amid && (arrived.is_all || goes_on || is_awaited);
}

std::span<const float> ArrivalMeter::shares() const {
  const PortAccounts::Figures figures = accounts_.figures();
  std::ranges::copy(figures.from, best_.begin() + static_cast<std::ptrdiff_t>(figures.from.size()));
  best_[static_cast<std::size_t>(own_)] = std::max(figures.in, std::ranges::max(figures.from));
  return best_;
}

std::span<const PortGauge::PairShares> ArrivalMeter::pairs() const {
  const PortAccounts::Figures figures = accounts_.figures();
  std::ranges::transform(ports_.port, pairs_.begin(), [&](Rank port) {
    return PairShares{0, figures.from[static_cast<std::size_t>(port)]};
  });
  return pairs_;
}

void ArrivalMeter::clear() {
  accounts_.next_operation();
  std::ranges::fill(streams_, Stream{});
}

}  // namespace hemiola
