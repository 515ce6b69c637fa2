// SPDX-License-Identifier: Apache-2.0
// Direct exchange: every rank talks to every other rank without relays. In the plain form (MSCCL's allpairs)
// all transfers of a phase stand in one step, which pays one latency. A port that serves many flows badly is
// better off with the rounds, in which every rank sends to one rank and receives from one rank at a time.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

Schedule all_gather_direct(int rank_count);
Schedule reduce_scatter_direct(int rank_count);
/// Two steps: every rank reduces the chunk it owns, then hands it to everybody.
Schedule all_reduce_direct(int rank_count);

/// The same transfers in n-1 rounds a phase: in round t every rank sends to the rank t places up.
Schedule all_gather_direct_rounds(int rank_count);
Schedule reduce_scatter_direct_rounds(int rank_count);
Schedule all_reduce_direct_rounds(int rank_count);

std::vector<Algorithm> direct_algorithms();

}  // namespace hemiola::algorithms
