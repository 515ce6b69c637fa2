// An all-reduce with several late ranks, folded in one after another.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// `late_ranks` in the order in which they arrive. The other ranks, at least two, reduce-scatter among themselves
/// at once; each late rank but the last sends its part of every chunk to whoever holds the chunk, and takes over
/// those it is to own; the last one's arrival starts the finish of a single late rank. chunk_count >= 1. Throws
/// ArgumentError.
Schedule all_reduce_late_several(int rank_count, const std::vector<Rank>& late_ranks, int chunk_count);

std::vector<Algorithm> late_several_algorithms();

}  // namespace hemiola::algorithms
