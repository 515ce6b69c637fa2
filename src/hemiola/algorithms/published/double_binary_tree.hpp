// SPDX-License-Identifier: Apache-2.0
// Two binary trees at once [sanders2009]: half of the chunks flow through each, and a rank that forwards in
// one tree is a leaf in the other, so every rank sends and receives at its full bandwidth. Logarithmic
// latency at full bandwidth, where one tree would have half of it.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/algorithms/index/binary.hpp"

namespace hemiola::algorithms {

/// Both trees hang under the root, node 0; nodes 1 … rank_count-1 stand in each of them, in order of their
/// places. No node has more than two children in both trees together.
class DoubleTree {
 public:
  explicit DoubleTree(int rank_count);

  int node_count() const { return node_count_; }
  /// Edges from the root to the deepest node.
  int levels() const { return doubling_rounds(node_count_ + 1); }
  int parent(int tree, int node) const;
  /// Edges between the root's child and the node.
  int depth(int tree, int node) const;
  /// Whether the edge from the node's parent is used in even (0) or odd (1) steps: differs between the trees
  /// for each node, and between the two edges from one parent.
  int turn(int tree, int node) const { return first_turn_[static_cast<std::size_t>(node)] ^ tree; }

  /// The parent of place 1 … count of one in-order tree, in which odd places are leaves; 0 for its root.
  static int place_parent(int place, int count);
  /// A node's place in a tree: itself in the first; mirrored (even count) or shifted (odd) in the second, so
  /// that leaves and inner nodes swap.
  static int place_of(int tree, int node, int count);
  static int node_at(int tree, int place, int count);

 private:
  int node_count_;
  std::vector<int> first_turn_;  ///< by node; entry 0 unused
};

/// Sends chunk j of a tree's half down from the root, a period of two steps behind chunk j - 1. `chunk_count`
/// is even: chunks 0, 2, … take the first tree.
Schedule broadcast_double_binary_tree(int rank_count, Rank root, int chunk_count);
/// The broadcast backwards.
Schedule reduce_double_binary_tree(int rank_count, Rank root, int chunk_count);
/// Reduce to rank 0, then broadcast from it.
Schedule all_reduce_double_binary_tree(int rank_count, int chunk_count);

std::vector<Algorithm> double_binary_tree_algorithms();

}  // namespace hemiola::algorithms
