// SPDX-License-Identifier: Apache-2.0
// Makes spanning trees that share edges less deep, and none of the edges more crowded: two trees swap an edge for
// another, or one takes an edge that has room.
#pragma once

#include <vector>

#include "hemiola/bounds/strength.hpp"
#include "hemiola/synthesis/forest/spanning_trees.hpp"

namespace hemiola::synthesis {

/// Deterministic; stops where no single swap helps, or after a fixed amount of work.
void make_shallow(int vertex_count, const std::vector<bounds::Edge>& copies, SpanningTrees* trees);

}  // namespace hemiola::synthesis
