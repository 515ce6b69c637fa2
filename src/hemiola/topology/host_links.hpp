// Which links of a topology lead from host to host: the NICs and everything behind them.
#pragma once

#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

inline constexpr int kNoHost = -1;

/// Per vertex, its host. A switch belongs to a host if all ranks around it, also beyond switches that are linked with it,
/// are that host's; otherwise to kNoHost.
std::vector<int> host_of_vertices(const Topology& topology);

/// Per link, whether it lies between hosts, that is, not both its ends belong to one.
std::vector<bool> links_between_hosts(const Topology& topology);

}  // namespace hemiola
