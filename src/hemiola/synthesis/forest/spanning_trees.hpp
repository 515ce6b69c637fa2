// SPDX-License-Identifier: Apache-2.0
// Spanning trees that share the edges of a graph, none of them more often than it has copies: breadth-first ones as far
// as they go, completed by augmenting paths of the matroid union [roskind1985].
#pragma once

#include <vector>

#include "hemiola/bounds/strength.hpp"

namespace hemiola::synthesis {

/// Per tree, the numbers of its edges.
using SpanningTrees = std::vector<std::vector<int>>;

/// As many trees as are asked for, each edge in at most `capacity` of them; they must fit. Deterministic. Cost: a search
/// through all trees and edges for every edge that the breadth-first trees leave out.
SpanningTrees pack_spanning_trees(int vertex_count, const std::vector<bounds::Edge>& copies, int trees);

}  // namespace hemiola::synthesis
