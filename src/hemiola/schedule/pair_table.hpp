// SPDX-License-Identifier: Apache-2.0
// Numbers the distinct pairs of slots between which chunks move, in the order in which they are first seen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// A pair of ranks that some transfer uses, and which of a chunk's slots it reads and writes there: 0 is the buffer's, those
/// above are scratch. A schedule's link column indexes a table of these.
struct RankPair {
  Rank src;
  Rank dst;
  std::int32_t src_slot = 0;
  std::int32_t dst_slot = 0;

  /// From one slot of a rank to another: no message.
  bool is_within_rank() const { return src == dst; }
  friend bool operator==(const RankPair&, const RankPair&) = default;
  friend auto operator<=>(const RankPair&, const RankPair&) = default;
};

/// The highest slot of any pair; 0 where no scratch is used.
int scratch_count_of(std::span<const RankPair> pairs);

/// For each pair the first that joins the same ranks, with any slots.
std::vector<std::uint32_t> first_of_same_ranks(std::span<const RankPair> pairs);

/// An open-addressing hash table, because a generator asks once per transfer.
class PairTable {
 public:
  /// The pair's number, a new one when it is new. Throws ArgumentError beyond 2^31 pairs.
  std::uint32_t number_of(RankPair pair);
  const std::vector<RankPair>& pairs() const { return pairs_; }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};

  std::size_t slot_of(RankPair pair) const;
  void grow();

  std::vector<RankPair> pairs_;
  std::vector<std::uint32_t> slots_;  ///< a power of two, at most half full
  int shift_ = 64;                    ///< 64 - log2(slots)
};

}  // namespace hemiola
