// SPDX-License-Identifier: Apache-2.0
// Recursive doubling and halving: in round k every rank exchanges with the rank whose number differs in bit
// k. Rank counts that are no power of two are folded first: see PowerOfTwoCore.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// The largest power of two of ranks that can take part in the exchange of n ranks. The first 2(n - size)
/// ranks form pairs; of each, the even rank hands its data to the odd one before and gets the result back
/// after
/// [thakur2005]. Members are numbered 0 … size-1 in the order of their ranks.
struct PowerOfTwoCore {
  explicit PowerOfTwoCore(int rank_count);

  int size;
  int rounds;        ///< log2(size)
  int folded_count;  ///< ranks 0, 2, …, 2(folded_count - 1) stand outside

  /// The rank of a member.
  Rank rank_of(int member) const;
  /// The chunks, one per rank, that members 0 … member-1 stand for: [0, chunks_below(member)).
  int chunks_below(int member) const;
  /// The member's partner in a round, which is at distance 2^round.
  static int partner(int member, int round) { return member ^ (1 << round); }
  /// The first of the 2^round members that share the member's data before that round.
  static int block_begin(int member, int round) { return member >> round << round; }
};

/// Bytes optimal for powers of two; otherwise the folded ranks get everything in one more step.
Schedule all_gather_recursive_doubling(int rank_count);
/// The all-gather run backwards.
Schedule reduce_scatter_recursive_halving(int rank_count);
/// The whole buffer in every round: fewest steps, most bytes.
Schedule all_reduce_recursive_doubling(int rank_count);
/// Rabenseifner's: recursive halving to reduce-scatter, recursive doubling to all-gather.
Schedule all_reduce_recursive_halving_doubling(int rank_count);

std::vector<Algorithm> recursive_algorithms();

}  // namespace hemiola::algorithms
