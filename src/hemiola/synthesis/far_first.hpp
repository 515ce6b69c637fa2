// SPDX-License-Identifier: Apache-2.0
// An all-to-all in which every rank sends all others their parts itself, to the farthest first.
#pragma once

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::synthesis {

/// A direct exchange whose latencies pass while nearer ranks are sent to. So it takes about the longest
/// latency or the busiest link's time, whichever is longer, instead of both. Latencies of ways that are
/// within a 64th of the longest count as one, and have a step together. Throws ArgumentError where ranks do
/// not reach each other. Cost: O(1) per pair of ranks and link between them, in memory for few ranks' ways at
/// a time.
Schedule far_first_exchange(const Topology& topology);

}  // namespace hemiola::synthesis
