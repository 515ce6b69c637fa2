// SPDX-License-Identifier: Apache-2.0
// The conditions of every algorithm on a grid for the dimensions that it is told.
#pragma once

#include <string>
#include <vector>

#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::algorithms {

/// Throws ArgumentError, in the algorithm's name, for fewer than 1 or more than 16 dimensions, a size below 1, and more
/// ranks than a collective has.
void check_dimensions(const std::string& name, const std::vector<topologies::Dimension>& dimensions);

std::vector<int> sizes_of(const std::vector<topologies::Dimension>& dimensions);

}  // namespace hemiola::algorithms
