// SPDX-License-Identifier: Apache-2.0
// Shifted direct exchanges in which a slow rank owns as much of the buffer as its port has to spare. In the
// all-reduce, whole or rank by rank, the reduce-scatter of one segment shares each message with the
// all-gather of the segment before. Its two halves stand alone, too.
#pragma once

#include <optional>
#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// k+1 bodies of n-1 rounds. In round d of body b every rank i sends one message to i + d: its raw part of i
/// + d's section of segment b, and its finished section of segment b - 1. With one slow rank of factor l the
/// time is l(k+1)/k · s·β for l >= 2, and 2(n-1)l / ((n-2)l + 2) · (k+l-1)/k · s·β below. These are OptCC's
/// closed forms [OptCC, Theorems 1 and 6], reached by a far simpler exchange. `slowdown` has one factor per
/// rank. Throws ArgumentError for factors below 1 or not finite, segments < 1, fewer than 2 ranks.
Schedule all_reduce_weighted_exchange(int rank_count, const std::vector<double>& slowdown, int segments);

/// The same schedule rank by rank, each part in O((segments + 1) · n), where the schedule has n times as many
/// transfers. Throws ArgumentError like it; so does its `part` for a rank that does not exist.
ScheduleParts all_reduce_weighted_exchange_parts(int rank_count, const std::vector<double>& slowdown,
                                                 int segments);

/// The all-reduce's halves alone, in n-1 rounds: every rank ends with, or brings, the section that it owns there.
/// One slow rank of factor l: l(1 - f) · s·β for its share f, the load that its port must carry.
Schedule reduce_scatter_weighted_exchange(int rank_count, const std::vector<double>& slowdown);
Schedule all_gather_weighted_exchange(int rank_count, const std::vector<double>& slowdown);

/// The k at which bound · (k + c)/k plus a latency per message is least: sqrt(bound·c / ((n-1)·α')), c = min(1, l -
/// 1) for the largest factor l, in 1 … 4096. `relative_latency` α' is latency · bandwidth / bytes. Throws
/// ArgumentError like the above, and unless α' is finite and > 0.
int best_segment_count(int rank_count, const std::vector<double>& slowdown, double relative_latency);

/// The number that was asked for, or the best one.
int segments_or_best(std::optional<int> segments, int rank_count, const std::vector<double>& slowdown,
                     double relative_latency);

std::vector<Algorithm> weighted_exchange_algorithms();

}  // namespace hemiola::algorithms
