// SPDX-License-Identifier: Apache-2.0
// The pipelined chain: the buffer is cut into chunks that follow each other from rank to rank, so that all
// links of the chain are busy at once. Best for large buffers and few ranks.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// From the root up the ranks to root - 1.
Schedule broadcast_chain(int rank_count, Rank root, int chunk_count);
/// From root + 1 up the ranks to the root.
Schedule reduce_chain(int rank_count, Rank root, int chunk_count);

std::vector<Algorithm> chain_algorithms();

}  // namespace hemiola::algorithms
