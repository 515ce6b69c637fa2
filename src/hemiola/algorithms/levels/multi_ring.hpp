// SPDX-License-Identifier: Apache-2.0
// Several rings through all ranks at once, each of which leaves and enters nodes through a NIC of its own;
// NCCL and RCCL call them channels.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/algorithms/index/node_layout.hpp"

namespace hemiola::algorithms {

/// As many rings as NICs. Throws ArgumentError for fewer than 1, or too many transfers.
Schedule multi_ring(CollectiveKind kind, const NodeLayout& layout, int nics);

std::vector<Algorithm> multi_ring_algorithms();

}  // namespace hemiola::algorithms
