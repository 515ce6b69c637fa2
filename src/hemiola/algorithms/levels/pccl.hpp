// SPDX-License-Identifier: Apache-2.0
// PCCL's collectives on nodes: one phase between nodes, for each local rank by itself, and one inside them.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/algorithms/index/node_layout.hpp"

namespace hemiola::algorithms {

enum class BetweenNodes { ring, recursive };

/// Throws ArgumentError for nodes that differ in ranks, for recursive doubling over nodes that are no power of two, and for
/// too many transfers.
Schedule pccl(CollectiveKind kind, const NodeLayout& layout, BetweenNodes between);

std::vector<Algorithm> pccl_algorithms();

}  // namespace hemiola::algorithms
