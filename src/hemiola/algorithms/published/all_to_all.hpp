// SPDX-License-Identifier: Apache-2.0
// All-to-all without relays: all pairs in one step, or pairwise, one partner a round.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

Schedule all_to_all_direct(int rank_count);
/// Powers of two exchange with rank XOR round, so that both directions of a pair are used at once; others
/// send `round` ranks up [thakur2005].
Schedule all_to_all_pairwise(int rank_count);

std::vector<Algorithm> all_to_all_algorithms();

}  // namespace hemiola::algorithms
