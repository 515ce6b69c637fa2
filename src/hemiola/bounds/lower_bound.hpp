// How fast a collective can possibly be on a topology: no schedule is faster, in either network model of the simulator.
// Each bound comes with what proves it. One bound per file; a new one joins the list in lower_bound.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hemiola/schedule/collective.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

struct Bound {
  std::string name;  ///< ports, traffic, relays, cut, distance, arrival
  Picoseconds time = 0;
  std::string witness;  ///< what proves it, in words
};

struct LowerBound {
  Picoseconds time = 0;
  std::string witness;
  std::vector<Bound> bounds;  ///< all of them, largest first
};

/// `bytes` is one rank's buffer (see chunk_begins); chunks are owned block-wise in equal shares where ownership
/// matters, as Collective::make does. Counts what a schedule of copies and reductions must move; times hold up to the
/// simulator's rounding of each message to a picosecond. Throws ArgumentError for custom collectives, bytes < 0, a root
/// or conditions that name unknown ranks, or where a rank cannot reach another that needs its data.
/// Cost: one shortest-path search per rank up to 1,024 ranks, a fixed number of them above.
LowerBound lower_bound(const Topology& topology, CollectiveKind kind, std::int64_t bytes,
                       const Conditions& conditions, Rank root);

}  // namespace hemiola
