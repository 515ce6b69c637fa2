// Numbers the distinct (src, dst) pairs in the order in which they are first seen.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// A pair of ranks that some transfer uses; a schedule's link column indexes a table of these.
struct RankPair {
  Rank src;
  Rank dst;
  friend bool operator==(const RankPair&, const RankPair&) = default;
  friend auto operator<=>(const RankPair&, const RankPair&) = default;
};

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
