// SPDX-License-Identifier: Apache-2.0
// Van de Geijn's broadcast for large buffers: scatter the buffer over the ranks along a binomial tree, then
// all-gather it round the ring. Twice the bytes of a pipelined chain at worst, but no chunk count to choose.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// A rank keeps the chunks that it forwarded in the scatter, so the ring skips those that the next rank holds
/// already.
Schedule broadcast_scatter_all_gather(int rank_count, Rank root);

std::vector<Algorithm> scatter_all_gather_algorithms();

}  // namespace hemiola::algorithms
