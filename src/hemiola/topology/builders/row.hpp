// SPDX-License-Identifier: Apache-2.0
// A row of ranks and the ways to wire it: the piece that grids, hosts and dragonflies are made of.
#pragma once

#include <string>

#include "hemiola/topology/builders/wiring.hpp"

namespace hemiola::topologies {

enum class Wires { line, ring, all_pairs, switched };

/// "line", "ring", "fully_connected" or "switch"; throws ArgumentError for anything else.
Wires wires_of(const std::string& text);

/// Ranks first, first + stride, … (size of them).
struct Row {
  int first = 0;
  int stride = 1;
  int size = 1;

  Vertex at(int position) const { return Vertex{first + position * stride}; }
};

/// Whether a row of that size needs a switch vertex.
constexpr bool needs_switch(Wires wires, int size) {
  return wires == Wires::switched && size > 1;
}

/// How many links such a row has, both directions counted.
std::int64_t links_in_row(Wires wires, std::int64_t size);

/// `center` matters only where needs_switch says so. A ring of two has one link each way, not two.
void wire_row(Wiring& wiring, const Row& row, Wires wires, LinkCost cost, Vertex center);

}  // namespace hemiola::topologies
