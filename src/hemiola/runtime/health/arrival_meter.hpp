// How fast bytes come to a rank over a network whose ends have buffers: in all, by its port, and from each peer.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/health/port_gauge.hpp"
#include "hemiola/runtime/wire/arrival_listener.hpp"

namespace hemiola {

/// Of what is read, only that counts which has come in the time that counts: what is read after a stream had been emptied
/// has come since. So a rank that comes late, and finds much in its buffers, takes none of that for speed. Figures are speeds
/// that have been reached:
///
/// - on the way from a peer, what comes of messages from their first bytes to their last. Their sender has all of them when it
///   begins to send, so between messages, while all wait for the slowest, no time passes. What is there at once, where this
///   rank has waited for it, counts as having come at the port's speed;
/// - by the own port, what comes from anybody, in one piece of time; and on any of the ways.
///
/// They are those of stretches, long enough that it means little what a switch or a token bucket lets through in one go
/// after a pause. The best of an operation's stretches count, but for an eighth: behind a lost packet a stream delivers late and
/// in one go what came in time. What makes figures too high makes no healthy port look slow: they end at its own speed.
class ArrivalMeter final : public ArrivalListener, public PortGauge {
 public:
  /// A stretch is so long, and so long that a healthy port would carry so many bytes.
  static constexpr double kLeast_ns = 20e6;
  static constexpr double kLeastBytes = 2 << 20;
  /// Of each kLeftOut stretches the best does not count, and of kLeastLeftOut the best.
  static constexpr std::size_t kLeftOut = 8, kLeastLeftOut = 4;

  /// `healthy`: by rank, what its port carries, in bytes per nanosecond.
  ArrivalMeter(Rank self, std::vector<double> healthy);

  void came(const ArrivedBytes& arrived, std::int64_t now_ns) override;
  void waits() override { ++waits_; }

  /// Two for each rank: by rank, what its port takes in, where only its own is known here; then, by rank, what has come from
  /// it at least.
  std::span<const float> shares() const override;
  bool has_measured() const override { return has_measured_; }
  /// Only the ways from peers.
  std::span<const PairShares> pairs() const override;
  /// But for stretches of ways that have not ended: they go on in the next operation.
  void clear() override;

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  static constexpr std::uint64_t kNoWait = std::numeric_limits<std::uint64_t>::max();

  struct Stretch {
    double bytes = 0;
    double taken_ns = 0;
  };
  /// Stretches that have ended, as shares of the healthy speed, and the one that has not.
  struct Run {
    Stretch now;
    std::vector<float> shares;
  };
  struct Stream {
    bool is_amid = false;              ///< a message has come in part, and time counts
    std::int64_t emptied_ns = kNever;  ///< when all that had come had been read
    std::uint64_t waits = kNoWait;     ///< this rank's, before that
  };

  void conclude(Run* run, Rank port);
  static float figure_of(const Run& run);

  Rank self_;
  std::vector<double> healthy_;
  std::vector<Stream> streams_;  ///< by the wire's numbers
  std::vector<Run> from_;        ///< by peer
  Run port_;
  std::uint64_t waits_ = 0;
  std::int64_t port_since_ns_ = kNever;  ///< of its stretch
  bool has_measured_ = false;
  mutable std::vector<float> best_;
  mutable std::vector<PairShares> pairs_;
};

}  // namespace hemiola
