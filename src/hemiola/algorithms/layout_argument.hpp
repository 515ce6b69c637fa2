// SPDX-License-Identifier: Apache-2.0
// How people say which ranks live on which nodes: by counts, or rank by rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hemiola/algorithms/function.hpp"
#include "hemiola/algorithms/index/node_layout.hpp"

namespace hemiola::algorithms {

/// The node of each rank; nothing where ranks are numbered node by node.
using NodeOfRank = std::optional<std::vector<int>>;

struct LayoutArgument {
  int nodes;
  Counts ranks_per_node;
  NodeOfRank node_of_rank;
};

/// The layout that a call of the function `name` describes; throws ArgumentError where it contradicts itself.
NodeLayout layout_of(const std::string& name, const LayoutArgument& argument, int groups = 1);

}  // namespace hemiola::algorithms
