// SPDX-License-Identifier: Apache-2.0
// All-reduce of small and middle buffers on a grid of ranks, one dimension at a time: along each, all ranks of a row
// exchange whole buffers and add them. Some dimensions may be left smaller shares of the buffer before.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::algorithms {

struct MultipliedGrid {
  std::vector<topologies::Dimension> dimensions;  ///< their costs mean nothing here
  int scattered = 0;  ///< dimensions that a part is scattered along first, and gathered along last
  int parts = 1;      ///< of the buffer; part p begins in dimension p
};

/// Recursive multiplying [ruefenacht2017] with a dimension of the grid for each of its steps. Throws ArgumentError for
/// dimensions that make no grid, counts out of range, more scratch slots than there are, or more than 2^28 transfers.
Schedule all_reduce_recursive_multiplying(const MultipliedGrid& grid);
/// Its number of transfers, those within ranks included. Throws as all_reduce_recursive_multiplying.
std::int64_t recursive_multiplying_transfers(const MultipliedGrid& grid);

std::vector<Algorithm> recursive_multiplying_algorithms();

}  // namespace hemiola::algorithms
