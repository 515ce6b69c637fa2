// SPDX-License-Identifier: Apache-2.0
// The binomial tree: broadcast, scatter and their mirror images reduce and gather in ⌈log2 n⌉ steps.
// Positions are ranks counted from the root; position v is the root of a subtree of consecutive positions.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/algorithms/index/binary.hpp"

namespace hemiola::algorithms {

/// The tree over positions 0 … rank_count-1. In round t of a broadcast every position that is a multiple of
/// twice the distance, and therefore has the data, sends to the position at that distance.
struct BinomialTree {
  int rank_count;
  Rank root{0};

  int rounds() const { return doubling_rounds(rank_count); }
  /// How far a broadcast reaches in a round: largest first, so that subtrees are consecutive.
  int distance(int round) const { return 1 << (rounds() - 1 - round); }
  bool sends(int position, int round) const {
    return position % (2 * distance(round)) == 0 && position + distance(round) < rank_count;
  }
  /// A position that was reached in that round is the root of the positions up to this one, exclusive.
  int subtree_end(int position, int round) const {
    return position + distance(round) < rank_count ? position + distance(round) : rank_count;
  }
  Rank rank_at(int position) const { return Rank{(position + root) % rank_count}; }
};

/// Adds the steps of a scatter from the root, in which a rank forwards its subtree's chunks.
void add_binomial_scatter(ScheduleBuilder* builder, const BinomialTree& tree);

Schedule broadcast_binomial(int rank_count, Rank root);
Schedule reduce_binomial(int rank_count, Rank root);
Schedule scatter_binomial(int rank_count, Rank root);
Schedule gather_binomial(int rank_count, Rank root);

std::vector<Algorithm> binomial_algorithms();

}  // namespace hemiola::algorithms
