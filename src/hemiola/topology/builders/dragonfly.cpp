// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/dragonfly.hpp"

#include <string>

#include "hemiola/topology/builders/row.hpp"

namespace hemiola::topologies {

Topology dragonfly(DragonflyShape shape, LinkCost local, LinkCost global) {
  const auto [group_size, group_count] = shape;
  check_range("dragonfly", "a group size", group_size, 1, Topology::kMaxVertices);
  check_range("dragonfly", "a number of groups", group_count, 1, Topology::kMaxVertices);
  const std::int64_t rank_count = std::int64_t{group_size} * group_count;
  const std::int64_t global_count = std::int64_t{group_count} * (group_count - 1);
  check_size("dragonfly", rank_count,
             group_count * links_in_row(Wires::all_pairs, group_size) + global_count);
  Wiring wiring;
  for (int group = 0; group < group_count; ++group)
    wire_row(wiring, {group * group_size, 1, group_size}, Wires::all_pairs, local, Vertex{0});
  for (int a = 0; a < group_count; ++a)
    for (int b = a + 1; b < group_count; ++b) {
      const int ahead = b - a, back = group_count - ahead;  // a is so far ahead of b, going round
      wiring.both_ways(Vertex{a * group_size + gateway(ahead, group_size)},
                       Vertex{b * group_size + gateway(back, group_size)}, global);
    }
  return Topology("dragonfly " + std::to_string(group_size) + "x" + std::to_string(group_count),
                  static_cast<int>(rank_count), 0, wiring.take());
}

}  // namespace hemiola::topologies
