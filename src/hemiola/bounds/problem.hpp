// SPDX-License-Identifier: Apache-2.0
// The input of every bound, and the list of bounds.
#pragma once

#include <algorithm>
#include <vector>

#include "hemiola/bounds/demand.hpp"
#include "hemiola/bounds/lower_bound.hpp"

namespace hemiola::bounds {

struct Problem {
  const Topology& topology;
  const Conditions& conditions;
  CollectiveKind kind;
  Rank root;
  std::int64_t bytes;
  Demand demand;
  std::vector<double> bandwidth;  ///< per link, bytes per second under the conditions
  Picoseconds known = 0;          ///< the largest bound found so far

  /// The most that searches from ranks may cost together; where all ranks are too many, bounds make do with
  /// some.
  static constexpr std::int64_t kSearchBudget = 20'000'000, kSearchBudgetOfMany = 4'000'000;
  static constexpr int kManyRanks = 8192;
  std::int64_t affordable_searches() const {
    const std::int64_t budget = topology.rank_count() > kManyRanks ? kSearchBudgetOfMany : kSearchBudget;
    return std::max<std::int64_t>(2, budget / (topology.vertex_count() + topology.link_count()));
  }

  /// Whether a switch adds what several ranks send: a receipt may then stand for many contributions.
  bool adds_in_switch() const { return any_switch(&SwitchAbility::reduces); }
  /// Whether a switch forwards a message to several ranks: a send may then serve many.
  bool copies_in_switch() const { return any_switch(&SwitchAbility::multicasts); }

  int rank_count() const { return topology.rank_count(); }
  double bandwidth_of(int link) const { return bandwidth[static_cast<std::size_t>(link)]; }

 private:
  bool any_switch(bool SwitchAbility::* can) const {
    const auto& switches = topology.hardware().switches;
    return std::any_of(switches.begin(), switches.end(), [can](const SwitchAbility& s) { return s.*can; });
  }
};

/// To whole picoseconds, at most 100 days; a thousandth is granted to the doubles that led here.
inline Picoseconds round_down(double picoseconds) {
  constexpr double most = 9e18;
  return static_cast<Picoseconds>(std::min(picoseconds, most) + 1e-3);
}

/// A rank can use all its out-links (in-links) at once, and they carry no more than their bandwidth.
Bound port_bound(const Problem& problem);
/// The same for all ranks together.
Bound traffic_bound(const Problem& problem);
/// Bytes that cannot be merged or copied on their path take a link of every rank that relays them.
Bound relay_bound(const Problem& problem);
/// One rank's data for another must leave the one's ports, travel, and enter the other's.
Bound distance_bound(const Problem& problem);
/// Data that ranks on one side of a cut need from the other side must cross it. Exact for all-gather,
/// reduce-scatter, broadcast, reduce, scatter and gather: schedules of many small chunks come as near to the
/// slowest cut as one likes. For an all-reduce it counts a buffer each way. Up to about 1,000 ranks.
Bound cut_bound(const Problem& problem);
/// The same for all hosts together, over their NICs: of a host's ranks one can send for all.
Bound host_traffic_bound(const Problem& problem);
/// The same for an all-reduce, an all-gather and a reduce-scatter between parts of the ranks, each of which
/// is as a single one: the nodes, and all groups that faster links join. A part's capacity is that of a cut
/// around it, which counts a NIC that several of its ranks share once. For an all-to-all whose blocks differ, the part
/// that has most to send, or to receive, for its capacity.
Bound island_bound(const Problem& problem);
/// An all-reduce where a port carries one message at a time, at the pace of its slower end. Holds for no other use
/// of ports.
Bound one_port_bound(const Problem& problem);
/// No rank is done before it has come.
Bound arrival_bound(const Problem& problem);
/// And its data for others must then still cross every cut around it; in an all-reduce, ranks that are late
/// together leave many sends until after they have come.
Bound late_bound(const Problem& problem);
/// An all-to-all by lengths of links (see length_search.hpp), within a hundredth or so of exact on small networks; up to
/// about 1,000 ranks. Ends early where the known bound cannot be raised.
Bound exchange_bound(const Problem& problem);
/// An all-reduce by lengths of links, likewise: where they are as fast back as there, the bound that no trees
/// can beat.
Bound tree_bound(const Problem& problem);

}  // namespace hemiola::bounds
