// SPDX-License-Identifier: Apache-2.0
// Least latencies between vertices, along any path.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola::bounds {

inline constexpr Picoseconds kUnreachable = std::numeric_limits<Picoseconds>::max();

/// A latency along two stretches of a path; sums that would overflow end just below kUnreachable.
constexpr Picoseconds sum_of(Picoseconds a, Picoseconds b) {
  return a < kUnreachable - 1 - b ? a + b : kUnreachable - 1;
}

enum class Direction { from_sources, to_sources };

/// Per vertex, the least latency from (to) the nearest of `sources`; kUnreachable where there is no path. Dijkstra.
std::vector<Picoseconds> least_latency(const Topology& topology, std::span<const Vertex> sources,
                                       Direction direction);

/// Per vertex, the fewest links that leave a rank on a path from (to) `end`: 1 through switches only, one more for each
/// rank that relays; -1 where there is no path.
std::vector<int> fewest_senders(const Topology& topology, Rank end, Direction direction);

}  // namespace hemiola::bounds
