// SPDX-License-Identifier: Apache-2.0
// C-Cube on a DGX-1 [cho2023]: a reduce and a broadcast along each of two binary trees that share no NVLink,
// overlapped, so that a chunk goes down again as soon as the root has it complete. Half of the chunks take each
// tree. Only for the eight ranks of a DGX-1 (V100 numbering); it uses at most 4 of the 6 links of a rank.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// `chunk_count` is even. Throws ArgumentError otherwise.
Schedule all_reduce_c_cube(int chunk_count);

std::vector<Algorithm> c_cube_algorithms();

}  // namespace hemiola::algorithms
