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
#include "hemiola/runtime/control/figures.hpp"
#include "hemiola/runtime/health/port_health.hpp"
#include "hemiola/runtime/health/port_meter.hpp"

namespace hemiola {

class PortWatch {
 public:
  /// `figures` outlives this. `healthy`: this rank's speed with each peer. `assumed`: the slow ranks that are
  /// planned for from the start, at `now_ns`.
  PortWatch(Figures* figures, Rank self, std::vector<PairSpeed> healthy,
            const std::map<Rank, double>& assumed, std::int64_t now_ns);

  /// For the engine.
  PortMeter* meter() { return &meter_; }

  /// Ends operation `number`, once all ranks have come to it: judges the figures of the one before, shows ours of
  /// this one. What is in force afterwards holds from the next operation on.
  /// `check` is called while others' figures are waited for.
  void end_operation(std::uint64_t number, std::int64_t now_ns, const Figures::Check& check = {});
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

  /// By rank, the best that this rank's messages with it have shown in the latest operations that measured anything: at
  /// least so much of the healthy speed is there. 0 where nothing was measured.
  using PairShares = PortMeter::PairShares;
  std::vector<PairShares> pair_shares() const;
  static constexpr std::size_t kPairOperations = 16;

 private:
  void keep_pairs();

  PortMeter meter_;
  Figures* figures_;
  std::vector<double> best_share_;
  std::vector<PairShares> pairs_;  ///< of the latest kPairOperations, a row each
  std::size_t pair_operations_ = 0;
  std::uint64_t shown_ = 0;  ///< number + 1 of the latest operation that all have shown
  std::atomic<std::uint64_t> version_ = 0;

  mutable std::mutex mutex_;  ///< guards the rest
  PortHealth health_;
  std::deque<HealthChange> changes_;
};

}  // namespace hemiola
