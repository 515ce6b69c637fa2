// Least latencies between vertices, along any path.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola::bounds {

inline constexpr Picoseconds kUnreachable = std::numeric_limits<Picoseconds>::max();

enum class Direction { from_sources, to_sources };

/// Per vertex, the least latency from (to) the nearest of `sources`; kUnreachable where there is no path. Dijkstra.
std::vector<Picoseconds> least_latency(const Topology& topology, std::span<const Vertex> sources,
                                       Direction direction);

/// Per vertex, the fewest links that leave a rank on a path from (to) `end`: 1 through switches only, one more for each
/// rank that relays; -1 where there is no path.
std::vector<int> fewest_senders(const Topology& topology, Rank end, Direction direction);

}  // namespace hemiola::bounds
