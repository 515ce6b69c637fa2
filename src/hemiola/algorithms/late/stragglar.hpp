// SPDX-License-Identifier: Apache-2.0
// StragglAR's published all-reduce with one late rank, for powers of two.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// n + log2 n - 2 rounds after arrival, one chunk per early rank [StragglAR, §3 and Algorithm 1]. Throws ArgumentError
/// for other counts.
Schedule all_reduce_stragglar(int rank_count, Rank late_rank);

std::vector<Algorithm> stragglar_algorithms();

}  // namespace hemiola::algorithms
