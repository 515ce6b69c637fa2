// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/slowed_links.hpp"

#include <algorithm>

namespace hemiola {

std::vector<double> link_slowdowns(const Topology& topology, const Conditions& conditions) {
  std::vector<double> slowdown_of(static_cast<std::size_t>(topology.vertex_count()), 1.0);
  for (const auto& [rank, factor] : conditions.slow) slowdown_of[static_cast<std::size_t>(rank)] = factor;
  std::vector<double> slowdown;
  slowdown.reserve(topology.links().size());
  for (const Link& link : topology.links())
    slowdown.push_back(std::max(slowdown_of[static_cast<std::size_t>(link.src)],
                                slowdown_of[static_cast<std::size_t>(link.dst)]));
  return slowdown;
}

std::vector<double> slowed_bandwidths(const Topology& topology, const Conditions& conditions) {
  std::vector<double> bandwidth = link_slowdowns(topology, conditions);
  for (std::size_t l = 0; l < bandwidth.size(); ++l)
    bandwidth[l] = topology.links()[l].bandwidth_Bps / bandwidth[l];
  return bandwidth;
}

}  // namespace hemiola
