// SPDX-License-Identifier: Apache-2.0
// A network of fluids: concurrent flows share links max-min fairly, and a flow holds all links of its path at
// once, as TCP and RDMA do through switches. Flows that meet before a link at more than it carries wait there
// (link_queues.hpp). The sending and the receiving port are both used in the order of steps: a flow starts
// when both have its turn, as with a receiver that grants.
#pragma once

#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

/// Cost: O(1) per flow where each port carries one flow at a time; otherwise see FairShares::settle, once per
/// instant at which flows come or go, and an event more for each link before which flows of different latencies meet.
/// Deterministic.
Timeline simulate_fluid(const Scenario& scenario, const SimulateOptions& options);

}  // namespace hemiola::simulation
