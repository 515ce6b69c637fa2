// SPDX-License-Identifier: Apache-2.0
// Arithmetic on ranks that live on nodes, and nodes that stand in groups: their places, and their neighbours
// so far ahead or behind.
#pragma once

#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola::algorithms {

/// How far one node is from another: so many groups ahead, and so many places within its group. Both wrap around.
struct NodeOffset {
  int groups = 0;
  int places = 0;
};

class NodeLayout {
 public:
  /// Nodes of so many ranks each, numbered node by node, in `group_count` groups of equally many consecutive nodes.
  /// Throws ArgumentError without nodes, for a node without ranks, and where groups do not divide the nodes.
  explicit NodeLayout(const std::vector<int>& ranks_per_node, int group_count = 1);
  /// The same for ranks that are numbered in another way: one node for each rank, 0 … node_count-1.
  static NodeLayout placed(const std::vector<int>& node_of_rank, int group_count = 1);

  int node_count() const { return static_cast<int>(first_.size()) - 1; }
  int rank_count() const { return first_.back(); }
  int group_count() const { return group_count_; }
  int nodes_per_group() const { return node_count() / group_count_; }

  int size(int node) const { return first_[at(node) + 1] - first_[at(node)]; }
  bool is_even() const;  ///< whether all nodes have equally many ranks
  Rank rank(int node, int local) const { return ranks_[at(first_[at(node)] + local)]; }
  const std::vector<int>& node_of_rank() const { return node_of_rank_; }
  int node_of(Rank rank) const { return node_of_rank_[at(rank)]; }

  int ahead(int node, NodeOffset offset) const { return moved(node, offset.groups, offset.places); }
  int behind(int node, NodeOffset offset) const { return moved(node, -offset.groups, -offset.places); }

 private:
  NodeLayout() = default;
  void check_groups() const;
  int moved(int node, int groups, int places) const;

  int group_count_ = 1;
  std::vector<int> first_;   ///< per node, where its ranks begin in ranks_; and their end
  std::vector<Rank> ranks_;  ///< node by node, ascending within each
  std::vector<int> node_of_rank_;
};

}  // namespace hemiola::algorithms
