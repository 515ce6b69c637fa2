// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/two_way_links.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace hemiola::synthesis {

std::vector<bounds::Edge> TwoWayLinks::copies(double tree_Bps, int trees) const {
  std::vector<bounds::Edge> edges;
  for (std::size_t e = 0; e < count(); ++e) {
    const double fit = std::min<double>(bandwidth_Bps[e] / tree_Bps * (1 + 1e-9), trees);
    edges.push_back({ends[e].first, ends[e].second, static_cast<std::int64_t>(fit)});
  }
  return edges;
}

std::vector<bounds::Edge> TwoWayLinks::edges() const {
  std::vector<bounds::Edge> edges;
  for (std::size_t e = 0; e < count(); ++e)
    edges.push_back({ends[e].first, ends[e].second, static_cast<std::int64_t>(std::ceil(bandwidth_Bps[e]))});
  return edges;
}

std::optional<TwoWayLinks> two_way_links(const Topology& topology) {
  if (topology.vertex_count() > topology.rank_count()) return std::nullopt;
  std::map<std::pair<int, int>, double> bandwidth_Bps;
  for (const Link& link : topology.links())
    if (!bandwidth_Bps.try_emplace({link.src, link.dst}, link.bandwidth_Bps).second) return std::nullopt;
  TwoWayLinks links;
  links.rank_count = topology.rank_count();
  for (const auto& [ends, Bps] : bandwidth_Bps) {
    const auto back = bandwidth_Bps.find({ends.second, ends.first});
    if (back == bandwidth_Bps.end() || back->second != Bps) return std::nullopt;
    if (ends.first > ends.second) continue;
    links.ends.push_back(ends);
    links.bandwidth_Bps.push_back(Bps);
  }
  return links;
}

}  // namespace hemiola::synthesis
