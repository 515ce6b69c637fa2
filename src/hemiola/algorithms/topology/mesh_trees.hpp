// SPDX-License-Identifier: Apache-2.0
// All-reduce on a mesh of any number of dimensions, up and down spanning trees made for it: a spine along one dimension,
// from which lines along the next leave, and so on. With trees of every spine all links carry alike, as much as any
// all-reduce along trees must put on them [nashwilliams1961].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::algorithms {

/// Decides which trees there are, and which chunk takes a link when.
struct MeshLoad {
  std::vector<topologies::Dimension> dimensions;
  std::int64_t nbytes;  ///< one rank's buffer
  int chunk_count;      ///< of the tree with the largest share
  /// Lines across each dimension that lead a spine, those in its middle; empty: all.
  std::optional<int> line_count = {};
};

/// Throws ArgumentError for dimensions that make no mesh or have links that no topology has, nbytes < 0,
/// chunk_count < 1, line_count < 1, or more than 2^28 transfers.
Schedule all_reduce_mesh_trees(const MeshLoad& load);

std::vector<Algorithm> mesh_trees_algorithms();

}  // namespace hemiola::algorithms
