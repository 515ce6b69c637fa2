// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/max_flow.hpp"

#include <algorithm>

#include "hemiola/base/interrupt.hpp"

namespace hemiola::bounds {

int FlowNetwork::add_arc(int from, int to, Amount capacity) {
  const int number = static_cast<int>(arcs_.size());
  arcs_.push_back({to, capacity, 0});
  arcs_.push_back({from, 0, 0});
  arcs_of_[static_cast<std::size_t>(from)].push_back(number);
  arcs_of_[static_cast<std::size_t>(to)].push_back(number + 1);
  return number;
}

FlowNetwork::Amount FlowNetwork::max_flow(int source, int sink, Amount enough) {
  for (Arc& arc : arcs_) arc.flow = 0;
  Amount flow = 0;
  while (flow < enough && measure_distances(source, sink)) {
    heed_interrupt(static_cast<std::int64_t>(arcs_.size()));
    std::fill(next_.begin(), next_.end(), 0);
    while (flow < enough) {
      const Amount pushed = push(source, sink, enough - flow);
      if (pushed == 0) break;
      flow += pushed;
    }
  }
  return flow;
}

bool FlowNetwork::measure_distances(int source, int sink) {
  std::fill(to_sink_.begin(), to_sink_.end(), kUnreached);
  to_sink_[static_cast<std::size_t>(sink)] = 0;
  std::vector<int> reached{sink};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const int v = reached[i];
    for (const int back : arcs_of_[static_cast<std::size_t>(v)]) {
      const int from = arcs_[static_cast<std::size_t>(back)].to;
      if (to_sink_[static_cast<std::size_t>(from)] != kUnreached) continue;
      if (arcs_[static_cast<std::size_t>(back ^ 1)].left() <= 0) continue;
      to_sink_[static_cast<std::size_t>(from)] = to_sink_[static_cast<std::size_t>(v)] + 1;
      if (from == source) return true;
      reached.push_back(from);
    }
  }
  return false;
}

/// Depth first. Recursion is as deep as the shortest way to the sink, at most the number of vertices.
FlowNetwork::Amount FlowNetwork::push(int vertex, int sink, Amount most) {
  if (vertex == sink) return most;
  const auto v = static_cast<std::size_t>(vertex);
  for (std::size_t& i = next_[v]; i < arcs_of_[v].size(); ++i) {
    const auto a = static_cast<std::size_t>(arcs_of_[v][i]);
    const int to = arcs_[a].to;
    if (arcs_[a].left() <= 0 || to_sink_[static_cast<std::size_t>(to)] != to_sink_[v] - 1) continue;
    const Amount pushed = push(to, sink, std::min(most, arcs_[a].left()));
    if (pushed == 0) continue;
    arcs_[a].flow += pushed;
    arcs_[a ^ 1].flow -= pushed;
    return pushed;
  }
  return 0;
}

}  // namespace hemiola::bounds
