// SPDX-License-Identifier: Apache-2.0
// Spanning trees whose edges share links with others, as ways through switches do: laid one by one, each the cheapest
// while crowded links count as longer, and laid again until they are spread evenly [garg2007].
#pragma once

#include <optional>
#include <vector>

#include "hemiola/bounds/strength.hpp"
#include "hemiola/synthesis/forest/spanning_trees.hpp"
#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::synthesis {

struct SharedTrees {
  std::vector<bounds::Edge> pairs;  ///< of ranks with a channel either way; of no capacity of their own
  SpanningTrees trees;
  double total_Bps = 0;  ///< the bandwidth of all trees together, up and down at once
  double most_Bps = 0;   ///< no all-reduce is faster
};

/// `trees` of them, or with 0 the number that carries most, the fewest of several that are nearly as good. Nothing where
/// channels that lead both ways do not join all ranks. Deterministic. Cost: for each tree a look at every channel, some
/// rounds, for some numbers of trees.
std::optional<SharedTrees> lay_shared_trees(const Topology& topology, const Channels& channels, int trees);

}  // namespace hemiola::synthesis
