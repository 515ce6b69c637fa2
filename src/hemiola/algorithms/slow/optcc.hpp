// SPDX-License-Identifier: Apache-2.0
// OptCC's four stages on a ring of the healthy ranks, for networks in which only neighbours are near.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// Each section of the buffer: (1) the slow rank sends its raw part to the section's owner. (2) The others'
/// parts travel there round the healthy ring, gathering. The owner (3) returns the result to the slow rank
/// and (4) sends it round the ring [OptCC, §4.1]. Instead of the paper's four patterns one pattern rotates.
/// Below a factor of 2 the slow rank owns a part of each segment, too, which fills up its messages [OptCC,
/// Appendix C]. Healthy ranks that are not neighbours exchange nothing. For k segments at most (k + 1.5 -
/// 1/(n-1))/k of the bound. Throws ArgumentError for fewer than 3 ranks, a slow rank that does not exist, a
/// factor below 1 or not finite, segments < 1 or more than a schedule has steps for.
Schedule all_reduce_optcc(int rank_count, Rank slow_rank, double factor, int segments);

/// The k of all_reduce_optcc: sqrt(1.5 bound/α'), in 1 … 4096, but no more than leave a hop between two healthy ranks,
/// with its latency, time in the window of a slow rank's message. `relative_latency` α' is latency · bandwidth / bytes.
/// Throws ArgumentError like the above, and unless α' is finite and > 0.
int best_optcc_segment_count(int rank_count, double factor, double relative_latency);

std::vector<Algorithm> optcc_algorithms();

}  // namespace hemiola::algorithms
