// SPDX-License-Identifier: Apache-2.0
// MultiTree [huang2021]: one tree per rank, all grown at once over the links of a topology, so that no link is
// used twice in a step. For networks of equal links without switches; it ignores latency and bandwidth.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::algorithms {

/// The trees take turns; in its turn a tree adds the first edge it can from the ranks that it reached in earlier
/// steps, oldest first, over a link that is still free in this step. Chunk r goes down the tree of rank r.
/// Throws ArgumentError for a topology with switches, or one in which some rank cannot reach all others.
Schedule all_gather_multitree(const Topology& topology);
/// The all-gather over the reversed links, backwards.
Schedule reduce_scatter_multitree(const Topology& topology);
/// The reduce-scatter, then the all-gather, without overlap.
Schedule all_reduce_multitree(const Topology& topology);

std::vector<Algorithm> multitree_algorithms();

}  // namespace hemiola::algorithms
