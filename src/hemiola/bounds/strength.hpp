// SPDX-License-Identifier: Apache-2.0
// How strong an undirected network is: the least capacity between the parts that it is cut into, per part beyond the
// first. So many spanning trees, fractions counted, fit into it [tutte1961; nashwilliams1961; cunningham1985].
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/bounds/max_flow.hpp"

namespace hemiola::bounds {

struct Edge {
  int a;
  int b;
  std::int64_t capacity;
};

struct Partition {
  std::vector<int> part_of;  ///< per vertex
  int part_count = 0;

  /// Ten links of an exabyte a second are more than 64 bits hold.
  FlowNetwork::Amount capacity_between(const std::vector<Edge>& edges) const;
};

/// The partition with the least `scale * capacity between parts - price * (part_count - 1)`; of several the coarsest,
/// so a single part says that no other is negative. Exact. Cost: one maximum flow per vertex.
Partition cheapest_partition(int vertex_count, const std::vector<Edge>& edges, FlowNetwork::Amount scale,
                             FlowNetwork::Amount price);

/// The partition with the least capacity between parts per part beyond the first, of a network of at least two
/// vertices; as many flows again for each improvement on single vertices, of which there are few.
Partition weakest_partition(int vertex_count, const std::vector<Edge>& edges);

}  // namespace hemiola::bounds
