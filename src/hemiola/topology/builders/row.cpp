// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/row.hpp"

#include "hemiola/base/error.hpp"

namespace hemiola::topologies {

Wires wires_of(const std::string& text) {
  if (text == "line") return Wires::line;
  if (text == "ring") return Wires::ring;
  if (text == "fully_connected") return Wires::all_pairs;
  if (text == "switch") return Wires::switched;
  throw ArgumentError("expected line, ring, fully_connected or switch, found '" + text.substr(0, 60) + "'");
}

std::int64_t links_in_row(Wires wires, std::int64_t size) {
  if (size == 1) return 0;
  switch (wires) {
    case Wires::line:
      return 2 * (size - 1);
    case Wires::ring:
      return size == 2 ? 2 : 2 * size;
    case Wires::all_pairs:
      return size * (size - 1);
    case Wires::switched:
      return 2 * size;
  }
  return 0;
}

void wire_row(Wiring& wiring, const Row& row, Wires wires, LinkCost cost, Vertex center) {
  if (wires == Wires::all_pairs) {
    for (int i = 0; i < row.size; ++i)
      for (int j = i + 1; j < row.size; ++j) wiring.both_ways(row.at(i), row.at(j), cost);
  } else if (wires == Wires::switched) {
    for (int i = 0; row.size > 1 && i < row.size; ++i) wiring.port(row.at(i), center, cost);
  } else {
    for (int i = 0; i + 1 < row.size; ++i) wiring.both_ways(row.at(i), row.at(i + 1), cost);
    if (wires == Wires::ring && row.size > 2) wiring.both_ways(row.at(row.size - 1), row.at(0), cost);
  }
}

}  // namespace hemiola::topologies
