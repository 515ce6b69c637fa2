// SPDX-License-Identifier: Apache-2.0
// An all-reduce with one late rank as trees: the others' work while they wait, and the rest when it has come.
//
//     wait    the others add up a chunk at its owner, the first rank that the late one reaches; copies of the sum go to
//             whomever else the late rank itself sends its part
//     finish  the late rank adds its part there; what is complete goes on down the tree, and comes back to it
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/schedule/pair_table.hpp"
#include "hemiola/schedule/schedule.hpp"
#include "hemiola/synthesis/synthesize.hpp"
#include "hemiola/topology/topology.hpp"
#include "hemiola/trees/turns.hpp"

namespace hemiola::synthesis {

/// A rank's number where the late one is left out, and back.
inline Rank without_late(Rank rank, Rank late) {
  return rank < late ? rank : Rank{rank - 1};
}
inline Rank with_late(Rank rank, Rank late) {
  return rank < late ? rank : Rank{rank + 1};
}

/// A chunk's hops, in an order in which each follows all that bring its source the chunk; trees.hpp says what the others
/// mean.
struct HopTree {
  std::vector<RankPair> hops = {};
  std::vector<std::int32_t> dates = {};  ///< by hop
  std::vector<std::int32_t> ends = {};   ///< by hop, the last date before its link's next message; or empty
  std::uint32_t adding = 0;
  bool returns = false;

  void add(RankPair hop, std::int32_t date) {
    hops.push_back(hop);
    dates.push_back(date);
  }
  /// Not before any other one.
  std::int32_t last_date() const;
};

struct LateTrees {
  std::vector<HopTree> wait, finish;  ///< by chunk
  std::vector<Rank> owner;            ///< by chunk
  std::vector<std::int64_t> weight;   ///< by chunk; empty: all alike
  std::vector<trees::TurnRule>
      rules;  ///< by which it may be listed; empty: dates are steps, and nothing is better
};

/// One behind the other, each with its dates as steps, or listed where that is faster: where the delay is long, and where there
/// is none.
Schedule around(const Topology& topology, const LateTrees& trees, std::int64_t buffer_bytes);

/// Trees from the late rank, by chunk, and trees of the others to their owners, on which dates stand; chunks of one `shape`, a
/// number below that of chunks, come back alike. Chooses by whom the late
/// rank gets what is complete, so that the busiest link is least busy.
LateTrees around_ways(const Topology& topology, Rank late, std::vector<HopTree> down, std::vector<HopTree> up,
                      const std::vector<std::uint32_t>& shape);

/// By chunk, its hops, the steps in which they are made, in order, and those with which they end.
std::vector<HopTree> ways_of(const Schedule& schedule);

}  // namespace hemiola::synthesis
