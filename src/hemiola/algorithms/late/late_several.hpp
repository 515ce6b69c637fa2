// SPDX-License-Identifier: Apache-2.0
// An all-reduce with several late ranks, folded in one after another.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// `late_ranks` in the order in which they arrive. The other ranks, at least two, reduce-scatter among
/// themselves at once. Each late rank but the last sends its part of every chunk to the chunk's holder, and
/// takes over the chunks it is to own. The last one's arrival starts the finish of a single late rank.
/// chunk_count >= 1. Throws ArgumentError.
Schedule all_reduce_late_several(int rank_count, const std::vector<Rank>& late_ranks, int chunk_count);

std::vector<Algorithm> late_several_algorithms();

}  // namespace hemiola::algorithms
