// SPDX-License-Identifier: Apache-2.0
// About the time of a direct all-to-all on any network, and the cost of simulating it: known without its
// schedule, whose transfers are as many as pairs of ranks.
#pragma once

#include <cstdint>

#include "hemiola/simulate/step_estimate.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// The result of `estimate_by_steps` for one step in which every rank sends every other a part of its buffer
/// of `bytes`, but for the last byte of a part that does not divide it. It is the time of the busiest link,
/// and the longest latency; the work of flows that share links with others. Throws ArgumentError as
/// `simulate` does. Cost: O(1) per pair of ranks and link between them, in memory for few ranks' ways at a
/// time.
StepEstimate estimate_exchange(const Topology& topology, std::int64_t bytes, const Conditions& conditions);

}  // namespace hemiola
