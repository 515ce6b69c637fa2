// SPDX-License-Identifier: Apache-2.0
// Notices slow ports from the traffic of a communicator's own operations, and keeps the factors to plan for: at every
// operation the same on all ranks, because each judges the same figures, those of the operation before.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/adaptation/learner.hpp"
#include "hemiola/runtime/control/figures.hpp"
#include "hemiola/runtime/control/signature.hpp"
#include "hemiola/runtime/health/port_gauge.hpp"
#include "hemiola/runtime/health/port_health.hpp"

namespace hemiola {

class PortWatch final : public Learner {
 public:
  /// The knowledge from arrivals alone. Operations in which not all ranks depend on all, or of fewer bytes, say
  /// nothing. Nor do those that are planned for slow ports, since these rest in them. So while ports are slow, now and
  /// then one operation is a trial, planned as if none were, and by these alone a factor falls. Nor does a port that
  /// has not been seen both to take in and to send: it may have had to wait.
  struct ByArrivals {
    std::int64_t least_bytes = 0;
    std::vector<Rank> port = {};  ///< by rank, as RankPorts has it; empty: each has its own
  };

  /// `figures` outlives this. `assumed`: the slow ranks that are planned for from the start, at `now_ns`.
  PortWatch(Figures* figures, std::unique_ptr<PortGauge> gauge, const std::map<Rank, double>& assumed,
            std::int64_t now_ns, std::optional<ByArrivals> by_arrivals = {});

  bool note(const Note& note) override;
  /// An operation that failed, or is not looked at, says nothing.
  void drop_operation() { gauge_->clear(); }
  void find(const Signature&, Findings* found) const override { found->ports = in_force(); }

  /// Whether an operation may say something; of the same one all ranks say the same.
  bool looks_at(const Signature& signature) const;

  /// Ends operation `number`, once all ranks have come to it: judges the figures of the one before, shows ours of this
  /// one. The outcome holds from the next operation on. `check` is called while others' figures are waited for.
  void end_operation(std::uint64_t number, std::int64_t now_ns, const Figures::Check& check = {});
  /// Before operation `number` takes over the deliberate measurements of all ranks, by rank. Returns as `note` does.
  bool adopt(const std::map<Rank, double>& measured, std::uint64_t number, std::int64_t now_ns);

  /// Counts the changes so far; any thread may ask.
  std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  PortsInForce in_force() const;

  struct Report {
    std::vector<SlowPort> slow;         ///< for each rank that has one
    std::vector<HealthChange> changes;  ///< the latest, at most kChanges
  };
  Report report() const;

  static constexpr std::size_t kChanges = 256;
  /// Operations from a change to the first trial; from trial to trial they double.
  static constexpr int kFirstPause = 8;
  static constexpr int kLongestPause = 64;
  /// On end, one operation after the other but one.
  static constexpr std::size_t kTrialsToFall = 3;
  /// Arrivals show the reached speed, but not with certainty the port's own part in it.
  static constexpr Judging kJudgingByArrivals{.beside = Judging::Beside::median,
                                              .operations_to_fall = kTrialsToFall,
                                              .least_factor = 1.2,
                                              .most_spread = 1.15,
                                              .operations_of_reference = 16};

  /// By rank, the best that this rank's messages with it have shown in the latest operations that measured anything: at
  /// least so much of the healthy speed is there. 0 where nothing was measured.
  using PairShares = PortGauge::PairShares;
  std::vector<PairShares> pair_shares() const;
  static constexpr std::size_t kPairOperations = 16;

 private:
  bool read(const Figures::Check& check);
  std::vector<SlowPort> slow_by_rank() const;
  std::map<Rank, double> factors_by_rank() const;
  void keep_pairs();
  void judge(std::uint64_t number, std::int64_t now_ns);
  void go_on_with_trials();
  void note_change(std::uint64_t number);
  Rank port_of(Rank rank) const;
  void renew() { version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  bool plans_for_slow_ports() const { return !is_trial_ && !health_.slow_ports().empty(); }

  std::unique_ptr<PortGauge> gauge_;
  Figures* figures_;
  std::vector<double> figures_read_;
  std::vector<double> best_share_;  ///< by rank
  std::vector<PairShares> pairs_;   ///< of the latest kPairOperations, a row each
  std::size_t pair_operations_ = 0;
  const std::optional<ByArrivals> by_arrivals_;
  std::uint64_t shown_count_ = 0;   ///< of operations
  std::uint64_t shown_number_ = 0;  ///< the latest of these
  bool shown_tells_ = false;        ///< its figures are to be judged
  int pause_ = kFirstPause;
  int until_trial_ = kFirstPause;
  std::atomic<std::uint64_t> version_ = 0;

  mutable std::mutex mutex_;  ///< guards the rest
  PortHealth health_;         ///< of ports, each called by a rank
  bool is_trial_ = false;
  std::deque<HealthChange> changes_;
};

}  // namespace hemiola
