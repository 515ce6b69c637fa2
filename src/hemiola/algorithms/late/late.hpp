// SPDX-License-Identifier: Apache-2.0
// All-reduce with one late rank: the others reduce-scatter among themselves while they wait; the late rank's
// arrival starts a finish that moves each byte once through its port.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// Ring reduce-scatter among the early ranks (rank_count - 2 steps), then chunk_count + ⌈log2 n⌉ - 1 exchange
/// rounds: the lower bound after arrival. Owners are balanced; the late rank's part is added exactly once per
/// chunk. rank_count >= 3; throws ArgumentError. The finish comes from a cache shared by all late ranks.
Schedule all_reduce_late(int rank_count, Rank late_rank, int chunk_count);

std::vector<Algorithm> late_algorithms();

}  // namespace hemiola::algorithms
