// SPDX-License-Identifier: Apache-2.0
// A tree hung up at one of its vertices: each vertex's parent, and its depth.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/bounds/strength.hpp"

namespace hemiola::synthesis {

/// A forest hangs by one vertex of each of its parts.
struct RootedTree {
  std::vector<int> order;   ///< roots first, each vertex behind the one above it
  std::vector<int> parent;  ///< per vertex; -1: a root
  std::vector<int> edge;    ///< per vertex, the one to its parent; -1: a root
  std::vector<int> depth;   ///< per vertex
  std::vector<int> part;    ///< per vertex, the root of its part

  int height() const { return depth[static_cast<std::size_t>(order.back())]; }
};

/// `tree` names edges of `graph` that make no cycle. Hangs the part of `root` by it, the others by their first vertex.
RootedTree hang(int vertex_count, const std::vector<bounds::Edge>& graph, const std::vector<int>& tree,
                int root);

/// The same by the middle of its longest path, where it is least deep. The tree must span.
RootedTree hang_by_center(int vertex_count, const std::vector<bounds::Edge>& graph,
                          const std::vector<int>& tree);

}  // namespace hemiola::synthesis
