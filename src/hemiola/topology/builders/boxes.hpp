// SPDX-License-Identifier: Apache-2.0
// Boxes cabled directly to each other, without a switch: the rings and partial meshes of three to eight small machines.
#pragma once

#include <utility>
#include <vector>

#include "hemiola/topology/builders/row.hpp"

namespace hemiola::topologies {

struct Cable {
  int a = 0;  ///< a box
  int b = 0;  ///< another box
  LinkCost cost;
};

struct BoxOptions {
  int ranks_per_box = 1;
  Wires inside = Wires::all_pairs;  ///< how the ranks of a box are joined
  LinkCost local;                   ///< rank to rank inside a box
};

/// Both ways through every cable. Where a box has several ranks, all of them reach each of its cables through a
/// vertex of its own, the port, so that they share the cable. A box's cable ends are called nic0, nic1, … in the order
/// of the cables. Switch vertices: each box's inner switch, then two
/// ports per cable.
Topology boxes(int box_count, const std::vector<Cable>& cables, const BoxOptions& options = {});

/// The pairs of a ring of boxes (one pair for two boxes), or all pairs.
std::vector<std::pair<int, int>> ring_of_boxes(int box_count);
std::vector<std::pair<int, int>> all_pairs_of_boxes(int box_count);

}  // namespace hemiola::topologies
