// SPDX-License-Identifier: Apache-2.0
// StragglAR's late-aware baseline: an all-reduce of the early ranks, then broadcasts of the whole buffer.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// The early ranks all-reduce among themselves; the late rank then exchanges the whole buffer with one of them, and
/// both broadcast the result along a binomial tree [StragglAR, §4.1 and §F]. rank_count >= 3; throws ArgumentError.
Schedule all_reduce_late_broadcast(int rank_count, Rank late_rank);

std::vector<Algorithm> late_broadcast_algorithms();

}  // namespace hemiola::algorithms
