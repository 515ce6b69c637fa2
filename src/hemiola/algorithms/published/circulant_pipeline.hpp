// SPDX-License-Identifier: Apache-2.0
// Round-optimal broadcast of many chunks [traff2024broadcast]: K chunks reach n ranks in K - 1 + ⌈log2 n⌉
// steps, the fewest possible with one port a rank, for any rank count. The reduce is the broadcast backwards.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

Schedule broadcast_circulant(int rank_count, Rank root, int chunk_count);
Schedule reduce_circulant(int rank_count, Rank root, int chunk_count);

std::vector<Algorithm> circulant_pipeline_algorithms();

}  // namespace hemiola::algorithms
