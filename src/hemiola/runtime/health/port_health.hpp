// SPDX-License-Identifier: Apache-2.0
// The ranks with slow ports, and the factors to plan for: a judgement that every rank makes for itself from the same
// figures, so that all come to the same one at the same operation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// A rank whose ports are slower than the others'.
struct SlowPort {
  Rank rank{0};
  double measured_factor = 1;      ///< in the last operation with a figure, beside the usual speed of ports
  double planned_factor = 1;       ///< in force: rounded up, and slow to fall
  std::uint64_t since_number = 0;  ///< the first operation that showed it
  std::int64_t since_ns = 0;       ///< CLOCK_MONOTONIC; differs from rank to rank
};

/// From operation `number` on, schedules are planned for these factors.
struct HealthChange {
  std::uint64_t number = 0;
  std::map<Rank, double> slow;
};

/// How figures are judged.
struct Judging {
  /// Beside whom a port is slow: the fastest, where figures are certain; else the median of all.
  enum class Beside : std::uint8_t { fastest, median };
  Beside beside = Beside::fastest;
  std::size_t operations_to_fall = 5;  ///< on end, that show less than the present factor
  /// Below this factor nobody is called slow, even if PortHealth can plan for smaller factors.
  double least_factor = 1;
  /// By how much the greatest of the shares that are believed in exceeds the least: a slow port always shows the same. A port
  /// that shows more than so much above the slowest one's share may only have waited for that one, so it is not called slower.
  double most_spread = std::numeric_limits<double>::infinity();
  /// The reference is the most that others have reached in so many of the latest operations. They are more than a
  /// factor takes to rise, so that the reference is older than the slow port, which holds up the others, too.
  std::size_t operations_of_reference = 64;
};

/// The model has one scale, the factor: the reference over a port's own share, at least 1. Every port has a factor in
/// force, 1 where it counts as healthy. It takes one of a few steps (`round_up_factor`), for planning for too small a factor
/// costs much, for too large a one next to nothing [study of OptCC, §4.1 rule 5].
///
/// - It rises after five operations on end that show more (eight, where it is little), to the least of them.
/// - It falls after `operations_to_fall` on end that show less, to the greatest of them. Below kFullSpeedFactor a figure shows
/// less, independent of the port's earlier figures: shares end at 1, so a port at full speed may have no better ones to
/// show. Above it
/// the port itself must have become faster, too. In a schedule for a slow port the others may wait for each other; then
///   it seems less slow than it is.
/// - Where figures are uncertain (`most_spread`), only the slowest ports of an operation rise. The others' figures do not count
///   while the slowest is planned for, or has been seen to be slow for as long as they have. A port that is the slowest for the
///   first time, disturbed perhaps, only delays them.
///
/// So figures of full speed lead back to factor 1 from every state: after `operations_to_fall` of them, and where noise
/// has made the reference too high, after `operations_of_reference` more. An operation's figure can only be too slow.
class PortHealth {
 public:
  static constexpr double kLeastFactor = 1.12;  ///< below it nothing is planned for
  static constexpr double kFullSpeedFactor = 1.08;
  /// Below it disturbances look alike, so it takes longer to be believed.
  static constexpr double kMildFactor = 1.3;
  static constexpr std::size_t kOperationsToRise = 5;
  static constexpr std::size_t kOperationsToRiseMildly = 8;

  /// `assumed`: the factors to plan for from the start, at `now_ns`.
  PortHealth(int rank_count, const std::map<Rank, double>& assumed, std::int64_t now_ns,
             const Judging& judging = {});

  /// Judges operation `number` by the best share of its healthy rate that each rank has reached; 0 where unknown.
  /// Factors are relative to other ports, so a network that is slow for all is slow for nobody. Returns true
  /// when the factors in force have changed.
  bool judge(std::uint64_t number, std::int64_t now_ns, std::span<const double> best_share);

  /// Takes over the ranks' deliberate measurements, by port; others stay as they are. Returns as `judge` does.
  bool adopt(const std::map<Rank, double>& measured, std::uint64_t number, std::int64_t now_ns);

  /// A port has shown less than the present factor, but not often enough.
  bool is_in_doubt() const;

  /// The ranks to plan for: those with factors above 1.
  std::map<Rank, double> factors_in_force() const;
  std::vector<SlowPort> slow_ports() const;

 private:
  /// The most that was reached in the latest operations that say something.
  class Best {
   public:
    explicit Best(std::size_t operations) : shares_(operations) {}
    void note(double share) {
      const double leaves = std::exchange(shares_[next_++ % shares_.size()], share);
      best_ = leaves == best_ ? std::ranges::max(shares_) : std::max(best_, share);
    }
    double share() const { return best_; }

   private:
    std::vector<double> shares_;
    double best_ = 0;
    std::size_t next_ = 0;
  };
  struct Showing {
    double share;
    double factor;        ///< beside the fastest ports now
    double usual_factor;  ///< beside their usual speed: at least as much
    std::uint64_t number;
    std::int64_t at_ns;
  };
  struct Port {
    SlowPort state;
    std::vector<Showing> higher;  ///< the latest operations, as long as all show more than the present factor
    std::vector<Showing> lower;   ///< the same, less
    double share = 0;             ///< that the factor in force was found with
    double latest_share = 0;
  };
  bool judge(Port* port, const Showing& showing, const Port& slowest) const;
  void note_higher(Port* port, const Showing& showing, const Port& slowest) const;
  static bool is_lower(const Port& port, const Showing& showing);
  bool is_believed(const std::vector<Showing>& higher) const;
  bool is_steady(const std::vector<Showing>& higher) const;
  static const Showing& least_of(const std::vector<Showing>& shown);
  static void raise(Port* port);
  static void lower(Port* port);
  static bool by_factor(const Showing& a, const Showing& b);

  Judging judging_;
  std::vector<Port> ports_;
  /// The fastest ports', of fewer operations than a factor takes to rise, so that a network that becomes slow for all
  /// is recognized before any rank is called slow.
  Best now_{kOperationsToRise - 1};
  Best usual_;  ///< the reference that says how slow a port is
};

/// The factor to plan for: the next one of 1.25, 1.5, 2, 3, 4, 6, 8, … that is not more than 3 % below it (1 % below 2); 1 for
/// less than kLeastFactor. So few steps, because every change of a plan costs more than a step.
double round_up_factor(double factor);

}  // namespace hemiola
