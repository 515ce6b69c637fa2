// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/capacity_graph.hpp"

#include <algorithm>
#include <numeric>

#include "hemiola/bounds/max_flow.hpp"

namespace hemiola::synthesis {

std::int64_t CapacityGraph::shortfall(const TreesFrom& trees) const {
  const int source = vertex_count_;
  bounds::FlowNetwork flow(vertex_count_ + 1);
  for (int from = 0; from < vertex_count_; ++from)
    for (int to = 0; to < vertex_count_; ++to)
      if (at(from, to) > 0) flow.add_arc(from, to, at(from, to));
  for (int rank = 0; rank < rank_count_; ++rank)
    if (const std::int64_t from_here = trees[static_cast<std::size_t>(rank)]; from_here > 0)
      flow.add_arc(source, rank, from_here);
  const auto needed = std::accumulate(trees.begin(), trees.end(), bounds::FlowNetwork::Amount{0});
  std::int64_t worst = 0;
  for (int rank = 0; rank < rank_count_; ++rank)
    worst = std::max(worst, static_cast<std::int64_t>(needed - flow.max_flow(source, rank, needed)));
  return worst;
}

}  // namespace hemiola::synthesis
