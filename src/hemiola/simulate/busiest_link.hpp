// SPDX-License-Identifier: Apache-2.0
// The least time of a schedule, because one link must carry its share of it: known without a simulation.
#pragma once

#include <cstdint>

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// The longest time that any link needs at full bandwidth for the schedule's bytes over it; no simulation
/// ends before. Throws ArgumentError as `simulate` does. Cost: O(1) per transfer, and per pair of ranks and
/// link between them.
Picoseconds busiest_link(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                         const Conditions& conditions);

}  // namespace hemiola
