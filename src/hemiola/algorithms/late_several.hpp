// All-reduces with several late ranks, folded in one after another, and StragglAR's late-aware broadcast baseline.
#pragma once

#include <vector>

#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// `late_ranks` in the order in which they arrive. The other ranks, at least two, reduce-scatter among themselves
/// at once; each late rank but the last sends its part of every chunk to whoever holds the chunk, and takes over
/// those it is to own; the last one's arrival starts the finish of all_reduce_late. chunk_count >= 1. Throws
/// ArgumentError.
Schedule all_reduce_late_several(int rank_count, const std::vector<Rank>& late_ranks, int chunk_count);

/// For k late ranks that come at about the same time: the n - k others, at least two, reduce-scatter; then late
/// ranks hand their parts to the owners while these hand out what is complete. n - k + ⌈K / (n - k)⌉·(n - 1) rounds
/// for K = chunk_count >= 1 chunks after all are there, so (n - 1)/(n - k)·sβ where there are many; the ports allow
/// no less than (n - 1 + k)/n. Throws ArgumentError.
Schedule all_reduce_late_together(int rank_count, const std::vector<Rank>& late_ranks, int chunk_count);

/// The early ranks all-reduce among themselves; the late rank then exchanges the whole buffer with one of them, and
/// both broadcast the result along a binomial tree [StragglAR, §4.1 and §F]. rank_count >= 3; throws ArgumentError.
Schedule all_reduce_late_broadcast(int rank_count, Rank late_rank);

}  // namespace hemiola::algorithms
