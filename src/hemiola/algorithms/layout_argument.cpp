// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/layout_argument.hpp"

#include "hemiola/base/error.hpp"
#include "hemiola/schedule/collective.hpp"

namespace hemiola::algorithms {
namespace {

std::vector<int> counts_of(const std::string& name, const LayoutArgument& argument) {
  constexpr int most = Collective::kMaxRanks;
  const int nodes = argument.nodes;
  if (nodes < 1 || nodes > most)
    throw ArgumentError(name + ": expected 1 … " + std::to_string(most) + " nodes, found " +
                        std::to_string(nodes));
  if (const int* same = std::get_if<int>(&argument.ranks_per_node)) {
    if (*same > most / nodes)
      throw ArgumentError(name + ": expected at most " + std::to_string(most) + " ranks, found " +
                          std::to_string(nodes) + " nodes of " + std::to_string(*same));
    return std::vector<int>(static_cast<std::size_t>(nodes), *same);
  }
  const auto& counts = std::get<std::vector<int>>(argument.ranks_per_node);
  if (counts.size() != static_cast<std::size_t>(nodes))
    throw ArgumentError(name + ": ranks_per_node: expected one count, or one for each of " +
                        std::to_string(nodes) + " nodes, found " + std::to_string(counts.size()));
  return counts;
}

}  // namespace

NodeLayout layout_of(const std::string& name, const LayoutArgument& argument, int groups) {
  NodeLayout by_count(counts_of(name, argument), groups);
  if (!argument.node_of_rank) return by_count;
  NodeLayout placed = NodeLayout::placed(*argument.node_of_rank, groups);
  bool agree = placed.node_count() == by_count.node_count();
  for (int node = 0; agree && node < placed.node_count(); ++node)
    agree = placed.size(node) == by_count.size(node);
  if (!agree)
    throw ArgumentError(name + ": node_of_rank: expected as many ranks on each node as ranks_per_node says");
  return placed;
}

}  // namespace hemiola::algorithms
