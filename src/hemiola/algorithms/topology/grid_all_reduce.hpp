// SPDX-License-Identifier: Apache-2.0
// All-reduce on a grid of ranks, one dimension at a time: reduce-scatter along each dimension in some order, then
// all-gather along them in the opposite order. The buffer is cut into parts that are in different dimensions at
// the same time; BlueConnect and Themis differ in the order that they choose for each part.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::algorithms {

/// Decides the place of a part in each step.
struct GridLoad {
  std::vector<topologies::Dimension> dimensions;
  std::int64_t nbytes;  ///< one rank's buffer
  int part_count;
};

/// BlueConnect [cho2019]: every part goes through the dimensions as they are listed. Throws ArgumentError for
/// dimensions that make no grid, nbytes < 0, part_count < 1, or more than 2^28 transfers.
Schedule all_reduce_blueconnect(const GridLoad& load);
/// Themis [rashidi2022]: each part begins in the dimension whose links have least to carry so far, goes on to
/// the next, and so on, because a part shrinks with every dimension that it has been through. It comes back
/// in the opposite order. Throws ArgumentError as all_reduce_blueconnect.
Schedule all_reduce_themis(const GridLoad& load);

std::vector<Algorithm> grid_algorithms();

}  // namespace hemiola::algorithms
