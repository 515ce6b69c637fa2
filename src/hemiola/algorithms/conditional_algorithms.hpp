// The registry's entries for algorithms whose functions take more than a rank count: the late rank, the slow
// ranks, or the topology. They have no cost by rank count alone, so their formulas are for reading only.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

std::vector<Algorithm> conditional_algorithms();

}  // namespace hemiola::algorithms
