// SPDX-License-Identifier: Apache-2.0
// Groups of fully connected ranks, every two groups joined by one global link [kim2008].
#pragma once

#include "hemiola/topology/builders/wiring.hpp"

namespace hemiola::topologies {

struct DragonflyShape {
  int group_size = 1;
  int group_count = 1;
};

/// Ranks are numbered group by group. The global links of a group, ordered by how far ahead their other group is, go to
/// its ranks in turn; with group_count = group_size + 1 every rank has exactly one.
Topology dragonfly(DragonflyShape shape, LinkCost local, LinkCost global);

/// Which rank of its group (0 … group_size-1) holds the link to the group `ahead` places further (1 … group_count-1).
constexpr int gateway(int ahead, int group_size) {
  return (ahead - 1) % group_size;
}

}  // namespace hemiola::topologies
