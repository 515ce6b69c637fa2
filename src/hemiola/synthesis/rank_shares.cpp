// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/rank_shares.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"

namespace hemiola::synthesis {
namespace {

/// Makes the columns step by step, and in each step by src and dst, of which no two have more than one transfer.
class RankSharing {
 public:
  RankSharing(CollectiveKind kind, const RankShares& shares)
      : is_reduce_(kind == CollectiveKind::reduce), kind_(kind), shares_(shares) {
    const auto others = static_cast<std::size_t>(shares.rank_count - 1);
    const std::size_t count = static_cast<std::size_t>(shares.pieces) * others * others;
    columns_.pairs.reserve(others * others);
    columns_.link.reserve(count);
    columns_.chunk.reserve(count);
    columns_.reduce_words.assign((count + 63) / 64, is_reduce_ ? ~std::uint64_t{0} : 0);
    if (is_reduce_ && count % 64 != 0) columns_.reduce_words.back() >>= 64 - count % 64;
  }

  Schedule operator()() {
    find_pairs();
    // With one other rank there is nobody to hand anything on to.
    const int step_count = shares_.rank_count > 2 ? shares_.pieces + shares_.lag : shares_.pieces;
    columns_.step_offset.push_back(0);
    for (int step = 0; step < step_count; ++step) {
      const int given = is_reduce_ ? step_count - 1 - step : step;
      for (std::uint32_t link = 0; link < columns_.pairs.size(); ++link) add(link, given);
      heed_interrupt(static_cast<std::int64_t>(columns_.pairs.size()));
      columns_.step_offset.push_back(static_cast<std::int64_t>(columns_.link.size()));
    }
    const std::int64_t chunks = std::int64_t{shares_.rank_count - 1} * shares_.pieces;
    return Schedule::from_columns(Collective::make(kind_, shares_.rank_count, chunks, shares_.root),
                                  std::move(columns_));
  }

 private:
  Rank giver(const RankPair& pair) const { return is_reduce_ ? pair.dst : pair.src; }
  Rank taker(const RankPair& pair) const { return is_reduce_ ? pair.src : pair.dst; }

  /// Nothing is given to the root.
  void find_pairs() {
    for (Rank src : indices<Rank>(shares_.rank_count))
      for (Rank dst : indices<Rank>(shares_.rank_count))
        if (src != dst && taker({src, dst}) != shares_.root) columns_.pairs.push_back({src, dst});
  }

  /// The transfers between two ranks while the root gives the others piece `given`, if it still does.
  void add(std::uint32_t link, int given) {
    const RankPair& pair = columns_.pairs[link];
    const bool is_from_root = giver(pair) == shares_.root;
    const int piece = is_from_root ? given : given - shares_.lag;
    if (piece < 0 || piece >= shares_.pieces) return;
    const Rank owner = is_from_root ? taker(pair) : giver(pair);
    const int share = owner < shares_.root ? owner : owner - 1;
    columns_.link.push_back(link);
    columns_.chunk.push_back(static_cast<std::uint32_t>(share * shares_.pieces + piece));
  }

  const bool is_reduce_;
  const CollectiveKind kind_;
  const RankShares shares_;
  Schedule::Columns columns_;
};

/// `what` is being made.
void check(const RankShares& shares, const std::string& what) {
  if (shares.rank_count < 2 || shares.pieces < 1 || shares.lag < 1)
    throw ArgumentError(what + ": expected two ranks at least, one piece and a lag of one, found " +
                        std::to_string(shares.rank_count) + ", " + std::to_string(shares.pieces) + " and " +
                        std::to_string(shares.lag));
  if (shares.root < 0 || shares.root >= shares.rank_count)
    throw ArgumentError(what + ": expected a root in 0 … " + std::to_string(shares.rank_count - 1) +
                        ", found " + std::to_string(shares.root));
}

}  // namespace

Schedule broadcast_through_all(const RankShares& shares) {
  check(shares, "broadcast_through_all");
  return RankSharing(CollectiveKind::broadcast, shares)();
}

Schedule reduce_through_all(const RankShares& shares) {
  check(shares, "reduce_through_all");
  return RankSharing(CollectiveKind::reduce, shares)();
}

}  // namespace hemiola::synthesis
