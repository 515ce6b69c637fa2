// SPDX-License-Identifier: Apache-2.0
// Broadcast in a shifted direct exchange in which a slow rank hands less of the buffer on.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// k+1 bodies of n-1 rounds: the root sends each other rank its section of segment b while all hand theirs of
/// segment b - 1 on to everybody but the root, which owns nothing. One slow rank of factor l: at most l(k+1)/k ·
/// s·β, and no broadcast takes less than l · s·β.
Schedule broadcast_weighted_exchange(int rank_count, const std::vector<double>& slowdown, int segments,
                                     Rank root);

std::vector<Algorithm> weighted_broadcast_algorithms();

}  // namespace hemiola::algorithms
