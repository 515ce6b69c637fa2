// SPDX-License-Identifier: Apache-2.0
// Which links of a topology lead from host to host: the NICs and everything behind them.
#pragma once

#include <map>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

inline constexpr int kNoHost = -1;

/// Per vertex, its host. A switch belongs to a host if all ranks around it, also beyond switches that are linked
/// with it, are that host's; otherwise to kNoHost.
std::vector<int> host_of_vertices(const Topology& topology);

/// Per link, whether it lies between hosts, that is, not both its ends belong to one.
std::vector<bool> links_between_hosts(const Topology& topology);

/// Per vertex, bytes per second of its links to other hosts, `bandwidth` being those of each link now. A rank has its share
/// of a NIC that it shares with others of its host, and 0 where it has none.
std::vector<double> vertex_bandwidths(const Topology& topology, const std::vector<double>& bandwidth);

/// Per host, bytes per second that leave it, `bandwidth` being those of each link now. A rank has its share of a NIC that it
/// shares with others of its host. Where every rank has links to other hosts, or shares, the weakest rank counts for all of
/// them: an exchange on rails waits for it.
std::vector<double> host_bandwidths(const Topology& topology, const std::vector<double>& bandwidth);

/// Hosts with slower NICs than the fastest, on a topology whose hosts are alike but for that.
struct SlowHosts {
  int ranks_per_host = 1;
  std::map<int, double> factors;  ///< host → factor > 1
};

/// No host where none is slow, where hosts have one rank each or not as many as the others, or where ranks are not
/// numbered host by host. `bandwidth` as for host_bandwidths.
SlowHosts slow_hosts(const Topology& topology, const std::vector<double>& bandwidth);

}  // namespace hemiola
