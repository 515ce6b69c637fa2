// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/index/node_layout.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

std::vector<int> node_by_node(const std::vector<int>& ranks_per_node) {
  std::vector<int> node_of_rank;
  for (std::size_t node = 0; node < ranks_per_node.size(); ++node) {
    if (ranks_per_node[node] < 1)
      throw ArgumentError("expected at least 1 rank on every node, found " +
                          std::to_string(ranks_per_node[node]) + " on node " + std::to_string(node));
    node_of_rank.insert(node_of_rank.end(), static_cast<std::size_t>(ranks_per_node[node]),
                        static_cast<int>(node));
  }
  return node_of_rank;
}

}  // namespace

NodeLayout::NodeLayout(const std::vector<int>& ranks_per_node, int group_count)
    : NodeLayout(placed(node_by_node(ranks_per_node), group_count)) {}

NodeLayout NodeLayout::placed(const std::vector<int>& node_of_rank, int group_count) {
  if (node_of_rank.empty()) throw ArgumentError("expected at least 1 node, found none");
  const auto [least, most] = std::ranges::minmax(node_of_rank);
  if (least < 0 || most >= static_cast<int>(node_of_rank.size()))
    throw ArgumentError("node_of_rank: expected nodes 0 … node_count-1, each with a rank, found " +
                        std::to_string(least < 0 ? least : most));
  NodeLayout layout;
  layout.group_count_ = group_count;
  layout.node_of_rank_ = node_of_rank;
  layout.first_.assign(at(most) + 2, 0);
  for (const int node : node_of_rank) ++layout.first_[at(node) + 1];
  for (std::size_t node = 1; node < layout.first_.size(); ++node) {
    if (layout.first_[node] == 0)
      throw ArgumentError("node_of_rank: expected every node to have a rank, found none on node " +
                          std::to_string(node - 1));
    layout.first_[node] += layout.first_[node - 1];
  }
  std::vector<int> next(layout.first_.begin(), layout.first_.end() - 1);
  layout.ranks_.resize(node_of_rank.size());
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank)
    layout.ranks_[at(next[at(node_of_rank[rank])]++)] = Rank{rank};
  layout.check_groups();
  return layout;
}

void NodeLayout::check_groups() const {
  if (group_count_ < 1 || node_count() % group_count_ != 0)
    throw ArgumentError("groups: expected a number that divides the " + std::to_string(node_count()) +
                        " nodes, found " + std::to_string(group_count_));
}

bool NodeLayout::is_even() const {
  for (int node = 1; node < node_count(); ++node)
    if (size(node) != size(0)) return false;
  return true;
}

int NodeLayout::moved(int node, int groups, int places) const {
  const int width = nodes_per_group();
  const auto wrapped = [](int value, int size) { return (value % size + size) % size; };
  return wrapped(node / width + groups, group_count_) * width + wrapped(node % width + places, width);
}

}  // namespace hemiola::algorithms
