// SPDX-License-Identifier: Apache-2.0
// A schedule, a topology, conditions and a size, in the form in which both network models read them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "hemiola/schedule/routes.hpp"
#include "hemiola/schedule/schedule.hpp"
#include "hemiola/simulate/noise.hpp"
#include "hemiola/simulate/setting.hpp"
#include "hemiola/simulate/simulate.hpp"

namespace hemiola::simulation {

using TransferId = std::uint32_t;  ///< index into the schedule's columns
inline constexpr TransferId kNoTransfer = std::numeric_limits<TransferId>::max();

class Scenario {
 public:
  /// Throws ArgumentError as `simulate` does.
  Scenario(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
           const Conditions& conditions, const Noise& noise);

  const Schedule& schedule() const { return schedule_; }
  const Topology& topology() const { return setting_.topology(); }
  const JoinedWays& ways() const { return setting_.ways(); }
  TransferId transfer_count() const { return static_cast<TransferId>(schedule_.transfer_count()); }

  std::span<const int> path(TransferId t) const { return routes_.path(schedule_.link()[t]); }
  std::uint32_t hop_count(TransferId t) const { return routes_.hop_count(schedule_.link()[t]); }
  int first_link(TransferId t) const { return routes_.first_link(schedule_.link()[t]); }
  int last_link(TransferId t) const { return routes_.last_link(schedule_.link()[t]); }
  Rank src(TransferId t) const { return schedule_.pair_of(t).src; }
  Rank dst(TransferId t) const { return schedule_.pair_of(t).dst; }
  /// Whether t moves a chunk between two slots of one rank, which takes no time.
  bool is_within_rank(TransferId t) const { return schedule_.pair_of(t).is_within_rank(); }
  /// Whether t is a message at all: like the engine, the simulator leaves out those without bytes.
  bool is_sent(TransferId t) const { return bytes(t) > 0; }
  /// A whole number, below 2^53.
  double bytes(TransferId t) const { return setting_.bytes(schedule_.chunk()[t]); }
  /// The bytes that would take as long without noise.
  double load(TransferId t) const { return noise_.is_off() ? bytes(t) : bytes(t) * noise_.factor(t); }

  /// The share of elements that are not zero.
  double density() const { return density_; }

  /// When a rank has arrived and launched the operation; before that nothing leaves it and nothing lands.
  Picoseconds arrival(Rank rank) const { return setting_.arrival(rank); }
  Picoseconds path_latency(TransferId t) const {
    Picoseconds sum = 0;
    for (int link : path(t)) sum += latency(link);
    return sum;
  }
  Picoseconds latency(int link) const { return setting_.latency(link); }
  /// How long a message occupies a link beside its bytes.
  Picoseconds message(int link) const { return setting_.message(link); }
  /// Of one link, slowed down by the slower of the ranks it joins.
  double ps_per_byte(int link) const { return setting_.ps_per_byte(link); }

  /// The pairs of ranks of which one sends to the other, and their paths.
  std::size_t pair_count() const { return routes_.pair_count(); }
  std::span<const int> path_of_pair(std::uint32_t pair) const { return routes_.path(pair); }

  /// Links that carry some transfer as a second or later link of its path; some more than once.
  std::vector<int> transit_links() const;

 private:
  const Schedule& schedule_;
  Setting setting_;
  Routes routes_;
  Noise noise_;
  double density_;
};

}  // namespace hemiola::simulation
