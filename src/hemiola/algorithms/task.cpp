// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/task.hpp"

#include <algorithm>

namespace hemiola::algorithms {

double Task::delay_s() const {
  double longest = 0;
  for (const auto& [rank, delay] : conditions.late) longest = std::max(longest, to_seconds(delay));
  return longest;
}

std::vector<std::pair<double, Rank>> Task::late() const {
  std::vector<std::pair<double, Rank>> found;
  for (const auto& [rank, delay] : conditions.late)
    if (delay > 0) found.emplace_back(to_seconds(delay), rank);
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<double> Task::factors() const {
  std::vector<double> factors;
  for (Rank rank : indices<Rank>(rank_count)) factors.push_back(conditions.slowdown_of(rank));
  return factors;
}

const NodeNetwork* Task::nodes() const {
  if (!seen_nodes) seen_nodes = topology == nullptr ? std::nullopt : node_network(*topology, conditions);
  return *seen_nodes ? &**seen_nodes : nullptr;
}

std::string why_no_nodes(const Task& task) {
  return task.topology == nullptr ? "expected a topology that says which nodes the ranks share" : "";
}

std::string too_few_ranks(const Task& task, int least) {
  if (task.rank_count >= least) return "";
  return "expected at least " + std::to_string(least) + " ranks, found " + std::to_string(task.rank_count);
}

}  // namespace hemiola::algorithms
