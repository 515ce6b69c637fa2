// SPDX-License-Identifier: Apache-2.0
// All-reduce with one late rank on hosts of several ranks each, which share the links between hosts.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/algorithms/index/node_layout.hpp"
#include "hemiola/algorithms/late/late_segmented.hpp"

namespace hemiola::algorithms {

/// Steps of a segment's reduction among the early ranks: one inside the nodes, then a ring between those that are whole.
inline int late_node_steps(int node_count) {
  return node_count - 1;
}

/// As `all_reduce_late_segmented`, for nodes: the late rank's node is late to the others as a rank is there, on every local
/// index at once. The reduction of segment k takes the steps from late_node_steps·k on. `layout` has at least 3 nodes, all of
/// equally many ranks, 2 or more. Throws ArgumentError.
Schedule all_reduce_late_hierarchical(const NodeLayout& layout, Rank late_rank, const LateSegments& parts);

std::vector<Algorithm> late_hierarchical_algorithms();

}  // namespace hemiola::algorithms
