// SPDX-License-Identifier: Apache-2.0
// The same schedule with ranks or chunks called by other numbers.
#pragma once

#include <vector>

#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

/// Rank r becomes ranks[r], in transfers, owners, root and places. Chunks keep their numbers, so block-wise
/// owners become permuted ones; only in an all_to_all, whose chunks are named after their ranks, do they
/// follow. Throws ArgumentError unless `ranks` is a permutation.
Schedule relabel_ranks(const Schedule& schedule, const std::vector<Rank>& ranks);

/// Chunk c becomes chunks[c], with its owner and its weight. Throws ArgumentError unless `chunks` is a
/// permutation and, in an all_to_all, leaves each chunk between the same two ranks.
Schedule relabel_chunks(const Schedule& schedule, const std::vector<Chunk>& chunks);

}  // namespace hemiola
