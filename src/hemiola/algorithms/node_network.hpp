// SPDX-License-Identifier: Apache-2.0
// A topology as a schedule with levels sees it: the ranks of each node, the nodes of each group, and the time
// of a message inside a node, between nodes of a group, and between groups, while all ranks do the same.
#pragma once

#include <optional>

#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::algorithms {

/// Of messages while every rank of every node sends one: the way's latency, and what a byte keeps the narrowest link on
/// it from the other ranks' bytes; what it keeps that link by itself, beside its bytes.
struct Way {
  double latency_s = 0;
  double s_per_byte = 0;
  double message_s = 0;
};

struct NodeNetwork {
  int node_count = 1;
  int group_count = 1;  ///< of consecutive nodes on a switch of their own; 1 where all nodes are on the same
  int ranks_per_node = 1;  ///< of the node below
  int nic_count = 1;       ///< links that leave that node
  double chunks_per_rank =
      1;       ///< that one of its ranks carries for another node, on average; 1 where nodes are alike
  Way inside;  ///< to all its neighbours; a byte that goes to each of them is counted once
  Way near;    ///< to the same rank of another node in the group
  Way far;     ///< in another group; of its bytes, the time of the links between groups
  bool is_even = false;     ///< whether all nodes are alike, so that one rank stands for all
  bool has_cables = false;  ///< whether ranks of different nodes have links, which only some nodes use
};

/// The network as the node with the slowest way out sees it; nothing where nodes are not joined by switches.
std::optional<NodeNetwork> node_network(const Topology& topology, const Conditions& conditions);

}  // namespace hemiola::algorithms
