// SPDX-License-Identifier: Apache-2.0
// Spanning out-trees that together use no link more than it can carry [edmonds1973; berczi2010; ForestColl, §5.3].
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "hemiola/synthesis/forest/capacity_graph.hpp"

namespace hemiola::synthesis {

/// `count` trees of one shape.
struct TreeBatch {
  int root = 0;
  std::int64_t count = 0;
  std::vector<std::pair<int, int>> links;  ///< (from, to), nearer to the root first
};

/// As many out-trees from each rank as are asked for; they must fit, and the graph must have no switches. Cost: a
/// maximum flow for about every link of every batch.
std::vector<TreeBatch> pack_trees(CapacityGraph graph, const TreesFrom& trees);

}  // namespace hemiola::synthesis
