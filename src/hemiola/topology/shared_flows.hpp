// SPDX-License-Identifier: Apache-2.0
// Flows and the links that they share, in the form in which FairShares keeps their rates and FairRepair mends them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hemiola {

using FlowId = std::uint32_t;

struct SharedFlows {
  static constexpr int kNoLink = -1;
  struct Flow {
    std::span<const int> path;
    double rate = 0;             ///< 0: not yet known
    double next_rate = 0;        ///< of the repair that it was part of last
    std::uint32_t repaired = 0;  ///< the number of that repair
    int full_link = kNoLink;     ///< a link of the path that is full and on which nobody has more
    std::uint32_t seen = 0;      ///< the settle that collected it last
    bool is_alive = false;
  };
  struct Link {
    std::vector<FlowId> flows;  ///< may hold dead ones where the link has changed since the last settle
    std::uint32_t seen = 0;
    bool has_changed = false;
  };

  Flow& flow(FlowId f) { return flows[f]; }
  const Flow& flow(FlowId f) const { return flows[f]; }
  Link& link(int l) { return links[static_cast<std::size_t>(l)]; }
  const Link& link(int l) const { return links[static_cast<std::size_t>(l)]; }
  double capacity_of(int l) const { return capacity[static_cast<std::size_t>(l)]; }

  std::vector<Flow> flows;
  std::vector<Link> links;
  std::vector<double> capacity;  ///< per link
};

}  // namespace hemiola
