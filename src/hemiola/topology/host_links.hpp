// Which links of a topology lead from host to host: the NICs and everything behind them.
#pragma once

#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Per link, whether it lies between hosts. A switch belongs to a host if all ranks around it, also beyond switches that
/// are linked with it, are that host's; a link lies inside a host if both its ends do.
std::vector<bool> links_between_hosts(const Topology& topology);

}  // namespace hemiola
