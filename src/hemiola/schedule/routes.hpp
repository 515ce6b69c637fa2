// SPDX-License-Identifier: Apache-2.0
// The links that carry one rank's messages to another: the way of least time, always the same one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Whether a message passes ranks where switches lead there too.
enum class Relays { where_sooner, where_needed };

/// One path per rank pair, of no links within a rank. It leaves fewest hosts, so that ranks of one host talk inside it. Then
/// it passes fewest ranks, then takes the least time of a message: the latencies, what it costs the links beside
/// its bytes, and its bytes at the slowest link. Then fewest links, and least time per byte summed over the links.
/// A path of fewest links, past whatever ranks, that leaves no more hosts is taken instead where the message is there
/// before its first byte would be. Large messages thus pass no rank: schedules relay them on purpose.
/// Among equals, parallel links and parallel switches take turns by src + dst (as equal-cost routing in switches
/// does); where ranks relay, the path goes along the lower-numbered of a rank's links first, which is dimension
/// order on grids. Conditions do not enter: a rank that is slow at the moment relays as ever.
class Routes {
 public:
  /// Of all paths together: 2 GiB.
  static constexpr std::size_t kMaxLinks = std::size_t{1} << 29;

  /// Throws ArgumentError that names two ranks without a path, or above kMaxLinks. Cost: one search per sending rank, which
  /// goes no farther than its last receiver, and comes to a vertex again only by a way of more links and less time.
  Routes(const Topology& topology, std::span<const RankPair> pairs, double message_bytes,
         Relays relays = Relays::where_sooner);

  std::span<const int> path(std::uint32_t pair) const {
    const Route& route = routes_[pair];
    return {links_.data() + route.begin, route.hop_count};
  }
  std::uint32_t hop_count(std::uint32_t pair) const { return routes_[pair].hop_count; }
  /// Of paths that have links.
  int first_link(std::uint32_t pair) const { return routes_[pair].first_link; }
  int last_link(std::uint32_t pair) const { return path(pair).back(); }
  std::size_t pair_count() const { return routes_.size(); }

 private:
  struct Route {
    std::size_t begin;  ///< of the path, in links_
    std::uint32_t hop_count;
    int first_link;  ///< -1: none
  };
  std::vector<Route> routes_;
  std::vector<int> links_;
};

}  // namespace hemiola
