// SPDX-License-Identifier: Apache-2.0
// The ring: every rank sends to rank + 1, so all links of a ring carry the same load in every step. Two-way:
// each half of the buffer goes round in its own direction, both at once.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// n-1 steps; in step t rank r passes on the chunk of rank r - t.
Schedule all_gather_ring(int rank_count);
/// n-1 steps; the chunk of owner o starts at rank o + 1 and gathers parts until it reaches o.
Schedule reduce_scatter_ring(int rank_count);
/// Reduce-scatter, then all-gather: 2(n-1) steps, 2(n-1)/n of the buffer per rank [patarasuk2009].
Schedule all_reduce_ring(int rank_count);

/// Rank r owns chunks 2r, which go up the ranks, and 2r + 1, which go down.
Schedule all_gather_ring_two_way(int rank_count);
Schedule reduce_scatter_ring_two_way(int rank_count);
Schedule all_reduce_ring_two_way(int rank_count);

std::vector<Algorithm> ring_algorithms();

}  // namespace hemiola::algorithms
