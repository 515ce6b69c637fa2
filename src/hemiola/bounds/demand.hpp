// SPDX-License-Identifier: Apache-2.0
// The bytes that a collective makes each rank send and receive in every schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/schedule/collective.hpp"

namespace hemiola::bounds {

/// All sizes in bytes. A contribution to a sum must leave its rank once per byte, alone or in a partial sum; so must a
/// value that others want.
class Demand {
 public:
  Demand(CollectiveKind kind, int rank_count, Rank root, std::int64_t bytes)
      : kind_(kind), rank_count_(rank_count), root_(root), bytes_(bytes) {}

  /// Of an all_to_all whose blocks differ: the one from src to dst has `blocks[src * rank_count + dst]` bytes.
  Demand(int rank_count, std::vector<std::int64_t> blocks);

  bool has_block_sizes() const { return !blocks_.empty(); }

  /// The least that leaves `rank`.
  std::int64_t sent_by(Rank rank) const { return sent_by(kind_, rank); }
  /// The least that enters `rank`.
  std::int64_t received_by(Rank rank) const;
  /// How many bytes that enter `dst` depend on `src`.
  std::int64_t from_to(Rank src, Rank dst) const;
  /// The least that all ranks together send. For an all-reduce 2(n-1) times the buffer [patarasuk2009]: of
  /// each byte, n-1 partial sums must be sent before the first rank holds the result, and every other rank
  /// receives it later. Where a switch copies, a send may serve several ranks: the sum of `sent_by` then.
  std::int64_t sent_by_all(bool copies_in_switch = false) const;
  /// The least that all ranks together receive: as much, unless a switch adds, where it is the sum of `received_by`.
  std::int64_t received_by_all(bool adds_in_switch = false) const;

 private:
  std::int64_t moved_between_ranks() const;
  std::int64_t sent_by(CollectiveKind kind, Rank rank) const;
  /// The part of a buffer that `rank` owns; shares differ by at most a byte.
  std::int64_t share_of(Rank rank) const;
  /// The bytes from src to dst in an all_to_all.
  std::int64_t exchanged(Rank src, Rank dst) const;

  CollectiveKind kind_;
  int rank_count_;
  Rank root_;
  std::int64_t bytes_;
  std::vector<std::int64_t> blocks_;           ///< empty: all alike
  std::vector<std::int64_t> sent_, received_;  ///< by rank, of blocks that differ
};

}  // namespace hemiola::bounds
