// SPDX-License-Identifier: Apache-2.0
// The flat tree: the root talks to every other rank directly, in one step. Fewest latencies; the root's port
// carries everything, which for scatter and gather it must in any case.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

Schedule broadcast_direct(int rank_count, Rank root);
Schedule reduce_direct(int rank_count, Rank root);
Schedule scatter_direct(int rank_count, Rank root);
Schedule gather_direct(int rank_count, Rank root);

std::vector<Algorithm> flat_tree_algorithms();

}  // namespace hemiola::algorithms
