// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/registry.hpp"

#include "hemiola/algorithms/late/late.hpp"
#include "hemiola/algorithms/late/late_broadcast.hpp"
#include "hemiola/algorithms/late/late_hierarchical.hpp"
#include "hemiola/algorithms/late/late_segmented.hpp"
#include "hemiola/algorithms/late/late_several.hpp"
#include "hemiola/algorithms/late/stragglar.hpp"
#include "hemiola/algorithms/levels/hierarchical.hpp"
#include "hemiola/algorithms/levels/multi_ring.hpp"
#include "hemiola/algorithms/levels/pccl.hpp"
#include "hemiola/algorithms/published/all_to_all.hpp"
#include "hemiola/algorithms/published/binomial.hpp"
#include "hemiola/algorithms/published/bruck.hpp"
#include "hemiola/algorithms/published/chain.hpp"
#include "hemiola/algorithms/published/circulant_pipeline.hpp"
#include "hemiola/algorithms/published/direct.hpp"
#include "hemiola/algorithms/published/double_binary_tree.hpp"
#include "hemiola/algorithms/published/flat_tree.hpp"
#include "hemiola/algorithms/published/recursive.hpp"
#include "hemiola/algorithms/published/ring.hpp"
#include "hemiola/algorithms/published/scatter_all_gather.hpp"
#include "hemiola/algorithms/slow/optcc.hpp"
#include "hemiola/algorithms/slow/rail_exchange.hpp"
#include "hemiola/algorithms/slow/weighted_broadcast.hpp"
#include "hemiola/algorithms/slow/weighted_exchange.hpp"
#include "hemiola/algorithms/topology/c_cube.hpp"
#include "hemiola/algorithms/topology/grid_all_reduce.hpp"
#include "hemiola/algorithms/topology/mesh_trees.hpp"
#include "hemiola/algorithms/topology/multitree.hpp"
#include "hemiola/algorithms/topology/recursive_multiplying.hpp"
#include "hemiola/algorithms/topology/swing.hpp"

namespace hemiola::algorithms {
namespace {

/// A line per family, in the order of the documentation.
std::vector<Algorithm> collect() {
  std::vector<Algorithm> all;
  for (const auto& family : {
           ring_algorithms(),
           direct_algorithms(),
           recursive_algorithms(),
           bruck_algorithms(),
           double_binary_tree_algorithms(),
           binomial_algorithms(),
           chain_algorithms(),
           circulant_pipeline_algorithms(),
           scatter_all_gather_algorithms(),
           flat_tree_algorithms(),
           all_to_all_algorithms(),
           late_algorithms(),
           late_segmented_algorithms(),
           late_hierarchical_algorithms(),
           late_several_algorithms(),
           late_broadcast_algorithms(),
           stragglar_algorithms(),
           weighted_exchange_algorithms(),
           weighted_broadcast_algorithms(),
           rail_exchange_algorithms(),
           optcc_algorithms(),
           hierarchical_algorithms(),
           multi_ring_algorithms(),
           pccl_algorithms(),
           multitree_algorithms(),
           grid_algorithms(),
           recursive_multiplying_algorithms(),
           swing_algorithms(),
           mesh_trees_algorithms(),
           c_cube_algorithms(),
       })
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace

const std::vector<Algorithm>& registry() {
  static const std::vector<Algorithm> all = collect();
  return all;
}

}  // namespace hemiola::algorithms
