// SPDX-License-Identifier: Apache-2.0
// The time of an all-reduce along trees of a mesh, by a model of the trees that `all_reduce_mesh_trees`
// builds.
#pragma once

#include <cstdint>

#include "hemiola/algorithms/topology/mesh_trees.hpp"

namespace hemiola::algorithms {

struct MeshTreesCost {
  double seconds;
  std::int64_t transfer_count;
};

/// The busiest link, and behind it the longest way of one chunk; or the way from the farthest rank to its root and back,
/// if that takes longer. Within 4 % of an estimate of the schedule, on long narrow meshes 8; of few chunks on unequal
/// links of three and more dimensions up to 30 below. Each message costs its link the dimension's cost. For
/// all that `all_reduce_mesh_trees` takes, and for more transfers than it makes. Some µs.
MeshTreesCost mesh_trees_cost(const MeshLoad& load);

}  // namespace hemiola::algorithms
