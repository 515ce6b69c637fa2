// SPDX-License-Identifier: Apache-2.0
// Ranks on an n-dimensional grid, each dimension wired in its own way and at its own cost: lines (mesh),
// rings (torus), all pairs, or a switch per row. Rank = x0 + size0 * (x1 + size1 * (x2 + …)): the first
// dimension varies fastest.
#pragma once

#include <vector>

#include "hemiola/topology/builders/row.hpp"

namespace hemiola::topologies {

struct Dimension {
  Wires wires = Wires::line;
  int size = 1;
  LinkCost cost;
};

/// A row is the set of ranks that differ in one coordinate only; every row of a dimension is wired alike. A
/// dimension of size 1 adds nothing; a ring of two ranks has one link each way, not two. Dimensions need 1 …
/// 16 entries.
Topology grid(const std::vector<Dimension>& dimensions);

}  // namespace hemiola::topologies
