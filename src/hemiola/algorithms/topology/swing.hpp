// SPDX-License-Identifier: Apache-2.0
// All-reduce of small buffers on tori whose sides are powers of two: ranks exchange whole parts with peers on either side
// by turns, so that they stay near.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// Swing's latency-optimal form [desensi2024, §3]. Part p of the buffer begins in dimension p modulo their number; from
/// as many parts on they swing the other way. Throws ArgumentError for dimensions that make no grid, a side that is no
/// power of two, and parts below 1 or above twice the dimensions.
Schedule all_reduce_swing(const std::vector<int>& dims, int parts = 1);

std::vector<Algorithm> swing_algorithms();

}  // namespace hemiola::algorithms
