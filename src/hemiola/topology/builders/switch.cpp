// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/switch.hpp"

#include <string>

namespace hemiola::topologies {

Topology switch_(int rank_count, LinkCost cost, SwitchAbility ability) {
  check_size("switch", rank_count + std::int64_t{1}, 2 * static_cast<std::int64_t>(rank_count));
  Wiring wiring;
  const Vertex center{rank_count};
  for (Rank rank : indices<Rank>(rank_count)) wiring.port(Vertex{rank}, center, cost);
  return Topology("switch " + std::to_string(rank_count), rank_count, 1, wiring.take(), {}, {}, {},
                  {0, {ability}});
}

}  // namespace hemiola::topologies
