// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/ring.hpp"

#include <string>

namespace hemiola::topologies {

Topology ring(int rank_count, LinkCost cost, RingOptions options) {
  check_size("ring", rank_count, 2 * static_cast<std::int64_t>(rank_count));
  Wiring wiring;
  for (Rank rank : indices<Rank>(rank_count)) {
    const Vertex here{rank};
    const Vertex next{(rank + 1) % rank_count};
    if (rank_count > 1) wiring.one_way(here, next, cost);
    if (rank_count > 2 && options.bidirectional) wiring.one_way(next, here, cost);
  }
  const std::string name = (options.bidirectional ? "ring " : "one-way ring ") + std::to_string(rank_count);
  return Topology(name, rank_count, 0, wiring.take());
}

}  // namespace hemiola::topologies
