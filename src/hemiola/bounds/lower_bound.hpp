// SPDX-License-Identifier: Apache-2.0
// How fast a collective can possibly be on a topology: no schedule is faster, in either network model of the simulator.
// Each bound comes with its proof. One bound per file; a new one joins the list in lower_bound.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hemiola/schedule/collective.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// How many messages a port carries at a time.
enum class PortUse : std::uint8_t {
  shared,  ///< any number, which share it: holds for every schedule
  one,     ///< one, at the pace of the slower of its ends, which keeps the other end's port busy as long
};

/// Throws ArgumentError that lists the known names.
PortUse port_use_from_name(std::string_view name);

struct Bound {
  std::string
      name;  ///< ports, traffic, hosts, islands, relays, cut, distance, arrival, late, exchange, trees, one_port
  Picoseconds time = 0;
  std::string witness;       ///< its proof, in words
  std::string assumes = {};  ///< what the proof takes for granted beside the topology's figures, in words
};

/// The same where every rank launches the operation before it sends, for so long.
Bound after_launch(Bound bound, Picoseconds launch);

/// The first where both are equal.
inline Bound larger(Bound a, Bound b) {
  return a.time >= b.time ? std::move(a) : std::move(b);
}

struct LowerBound {
  Picoseconds time = 0;
  std::string witness;
  std::vector<Bound> bounds;  ///< all of them, largest first
};

/// `bytes` is one rank's buffer (see chunk_begins); chunks are owned block-wise in equal shares where ownership
/// matters, as Collective::make does. Counts the moves that a schedule of copies and reductions must make;
/// times hold up to the simulator's rounding of each message to a picosecond. With PortUse::one there is one
/// more bound, which schedules that put several messages on a port at a time may beat. Throws ArgumentError
/// for custom collectives, bytes < 0, a root or conditions that name unknown ranks, or where a rank cannot
/// reach another that needs its data. Cost: one shortest-path search per rank up to 1,024 ranks, a fixed
/// number of them above.
///
/// Switches that reduce or multicast do so: the proofs that count what ranks send each other then count less, or
/// nothing. Each bound says what it assumes of switches.
LowerBound lower_bound(const Topology& topology, CollectiveKind kind, std::int64_t bytes,
                       const Conditions& conditions, Rank root, PortUse port_use = PortUse::shared);

/// The same for an all_to_all whose blocks differ: the one from src to dst has `blocks[src * rank_count + dst]` bytes.
/// Throws ArgumentError for another number of blocks, too.
LowerBound exchange_lower_bound(const Topology& topology, std::vector<std::int64_t> blocks,
                                const Conditions& conditions);

}  // namespace hemiola
