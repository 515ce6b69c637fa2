// SPDX-License-Identifier: Apache-2.0
// A broadcast, or a reduce, where every two ranks are a hop apart: a share for each rank, which hands it on to all others.
#pragma once

#include "hemiola/schedule/schedule.hpp"

namespace hemiola::synthesis {

struct RankShares {
  int rank_count = 0;
  Rank root{0};
  int pieces = 1;  ///< of each share, one behind the other
  int lag = 1;     ///< steps from when the root sends a piece to when that is handed on
};

/// Throws ArgumentError for fewer than two ranks, a root that is none, no pieces or no lag. Cost: O(1) per transfer, of
/// which there are pieces * (ranks - 1)². Transfers are made in the schedule's own order, so that nothing is sorted.
Schedule broadcast_through_all(const RankShares& shares);
/// That backwards: the result of reverse(), without sorting it.
Schedule reduce_through_all(const RankShares& shares);

}  // namespace hemiola::synthesis
