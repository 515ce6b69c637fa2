// Notices slow ports from the traffic of a communicator's own operations, and keeps what schedules are to be
// planned for: at every operation the same on all ranks, because each judges the same figures, those of the
// operation before.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/health/port_health.hpp"
#include "hemiola/runtime/health/port_meter.hpp"
#include "hemiola/runtime/health/rate_board.hpp"

namespace hemiola {

class PortWatch {
 public:
  static std::size_t region_bytes(int rank_count) { return RateBoard::region_bytes(rank_count); }

  /// `region`: as RateBoard wants it. `healthy`: this rank's speed with each peer. `assumed`: the slow ranks that are
  /// planned for from the start, at `now_ns`.
  PortWatch(std::span<std::byte> region, Rank self, std::vector<PairSpeed> healthy,
            const std::map<Rank, double>& assumed, std::int64_t now_ns);

  /// For the engine.
  PortMeter* meter() { return &meter_; }

  /// Ends operation `number`, once all ranks have come to it: judges the figures of the one before, shows ours of
  /// this one. What is in force afterwards holds from the next operation on.
  void end_operation(std::uint64_t number, std::int64_t now_ns);
  /// An operation that failed says nothing.
  void drop_operation() { meter_.clear(); }

  /// Counts the changes so far; any thread may ask.
  std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  struct InForce {
    std::uint64_t version = 0;
    std::map<Rank, double> slow;
  };
  InForce in_force() const;

  struct Report {
    std::vector<SlowPort> slow;
    std::vector<HealthChange> changes;  ///< the latest, at most kChanges
  };
  Report report() const;

  static constexpr std::size_t kChanges = 256;

 private:
  PortMeter meter_;
  RateBoard board_;
  std::vector<double> best_share_;
  std::atomic<std::uint64_t> version_ = 0;

  mutable std::mutex mutex_;  ///< guards the rest
  PortHealth health_;
  std::deque<HealthChange> changes_;
};

}  // namespace hemiola
