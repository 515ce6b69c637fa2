// All-reduce with slow ranks: a shifted direct exchange in which a slow rank owns as much of the buffer as
// its port has to spare, and the reduce-scatter of one segment shares each message with the all-gather of the
// segment before.
#pragma once

#include <vector>

#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// k+1 bodies of n-1 rounds. In round d of body b every rank i sends one message to i + d: its raw part of i
/// + d's section of segment b, and its finished section of segment b - 1. With one slow rank of factor l the
/// time is l(k+1)/k · s·β for l >= 2, and 2(n-1)l / ((n-2)l + 2) · (k+l-1)/k · s·β below: OptCC's closed
/// forms [OptCC, Theorems 1 and 6], reached by a far simpler exchange. `slowdown` has one factor per rank.
/// Throws ArgumentError for factors below 1 or not finite, segments < 1, fewer than 2 ranks.
Schedule all_reduce_weighted_exchange(int rank_count, const std::vector<double>& slowdown, int segments);

}  // namespace hemiola::algorithms
