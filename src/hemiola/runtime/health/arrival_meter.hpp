// SPDX-License-Identifier: Apache-2.0
// How fast bytes come to a rank over a network whose ends have buffers: in all, by its port, and from each other port.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/health/port_accounts.hpp"
#include "hemiola/runtime/health/port_gauge.hpp"
#include "hemiola/runtime/wire/arrival_listener.hpp"

namespace hemiola {

/// By rank, the port by which its bytes come and go.
struct RankPorts {
  std::vector<Rank> port;       ///< called by the first of the ranks that share it
  std::vector<double> healthy;  ///< the bandwidth of the rank's port, in bytes per nanosecond
};

/// Only bytes that have come in the counted time count: bytes that are read after a stream had been emptied have come
/// since. So a late rank that finds full buffers takes none of that for speed. Figures are speeds that have been
/// reached:
///
/// - on the way from a port, the bytes of messages from their first to their last, and to the last of those that
///   follow without a pause. Their senders have all of them when they begin to send, so while all wait for the slowest, no time
/// passes. Bytes that are there at once after a pause, in which this rank has waited, count as having come at the
/// port's speed;
/// - by the own port, the bytes from all ranks, in one piece of time; and on any of the ways.
///
/// They are those of stretches, long enough that the burst of a switch or a token bucket after a pause means little.
/// The best of an operation's stretches count, but for an eighth: behind a lost packet a stream delivers late and in
/// one go the bytes that came in time. Figures that are too high make no healthy port look slow: they end at its own
/// speed.
class ArrivalMeter final : public ArrivalListener, public PortGauge {
 public:
  /// `memory` is as PortAccounts takes it, shared by all ranks with the same port as this one.
  ArrivalMeter(Rank self, RankPorts ports, std::shared_ptr<std::byte> memory);

  void came(const ArrivedBytes& arrived, std::int64_t now_ns) override;
  void waits() override { ++waits_; }

  /// Two for each rank, of ports at the rank that they are called by: the bytes into the port, of which only the own
  /// one is known here; then the least that has come from it.
  std::span<const float> shares() const override;
  bool has_measured() const override { return accounts_.has_measured(); }
  /// Only the ways from peers' ports.
  std::span<const PairShares> pairs() const override;
  void clear() override;

 private:
  static constexpr std::uint64_t kNoWait = std::numeric_limits<std::uint64_t>::max();

  struct Stream {
    bool is_amid = false;                                     ///< a message has come in part, and time counts
    std::int64_t emptied_ns = PortAccounts::Arrival::kNever;  ///< when all that had come had been read
    std::uint64_t waits = kNoWait;                            ///< this rank's, before that
  };

  RankPorts ports_;
  Rank own_;                     ///< port
  std::vector<Stream> streams_;  ///< by the wire's numbers
  std::uint64_t waits_ = 0;
  mutable PortAccounts accounts_;  ///< a port's number is the rank that it is called by
  mutable std::vector<float> best_;
  mutable std::vector<PairShares> pairs_;
};

}  // namespace hemiola
