// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/fully_connected.hpp"

#include <string>

namespace hemiola::topologies {

Topology fully_connected(int rank_count, LinkCost cost) {
  const std::int64_t link_count = static_cast<std::int64_t>(rank_count) * (rank_count - std::int64_t{1});
  check_size("fully_connected", rank_count, link_count);
  Wiring wiring;
  wiring.reserve(link_count);
  for (Rank src : indices<Rank>(rank_count))
    for (Rank dst : indices<Rank>(rank_count))
      if (src != dst) wiring.one_way(Vertex{src}, Vertex{dst}, cost);
  return Topology("fully connected " + std::to_string(rank_count), rank_count, 0, wiring.take());
}

}  // namespace hemiola::topologies
