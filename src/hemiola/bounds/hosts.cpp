// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/hosts.hpp"

#include "hemiola/topology/host_links.hpp"

namespace hemiola::bounds {
namespace {

/// Every rank a host of its own, switches of none.
std::vector<int> each_rank_a_host(const Topology& topology) {
  std::vector<int> host(static_cast<std::size_t>(topology.vertex_count()), kNoHost);
  for (int rank = 0; rank < topology.rank_count(); ++rank) host[static_cast<std::size_t>(rank)] = rank;
  return host;
}

/// The links between hosts that leave or enter one vertex.
struct Nics {
  int count = 0;
  double bandwidth_Bps = 0;
  void add(double bandwidth) {
    ++count;
    bandwidth_Bps += bandwidth;
  }
};

}  // namespace

Hosts::Hosts(const Problem& problem, bool each_rank) {
  const Topology& topology = problem.topology;
  count = each_rank ? topology.rank_count() : topology.node_count();
  ranks_per_host = topology.rank_count() / count;
  out_Bps.resize(static_cast<std::size_t>(count));
  in_Bps.resize(out_Bps.size());
  const auto host_of = each_rank ? each_rank_a_host(topology) : host_of_vertices(topology);
  std::vector<Nics> out(host_of.size()), in(host_of.size());
  for (int l = 0; l < topology.link_count(); ++l) {
    const auto src = static_cast<std::size_t>(topology.link(l).src);
    const auto dst = static_cast<std::size_t>(topology.link(l).dst);
    const double bandwidth = problem.bandwidth_of(l);
    if (host_of[src] == host_of[dst] && host_of[src] != kNoHost) {
      if (topology.is_rank(topology.link(l).src)) inside_Bps += bandwidth;
      continue;
    }
    out[src].add(bandwidth);
    in[dst].add(bandwidth);
    if (host_of[src] != kNoHost) out_Bps[static_cast<std::size_t>(host_of[src])] += bandwidth;
    if (host_of[dst] != kNoHost) in_Bps[static_cast<std::size_t>(host_of[dst])] += bandwidth;
  }
  std::vector<int> size(out_Bps.size());
  std::vector<double> nic(out_Bps.size());
  has_a_nic_per_rank = topology.rank_count() % count == 0;
  for (std::size_t v = 0; v < host_of.size(); ++v) {
    if (host_of[v] == kNoHost) continue;
    const auto host = static_cast<std::size_t>(host_of[v]);
    if (!topology.is_rank(Vertex{v})) {  // a switch inside: the host's ranks share the way out
      has_a_nic_per_rank = has_a_nic_per_rank && out[v].count + in[v].count == 0;
      continue;
    }
    if (size[host]++ == 0) nic[host] = out[v].bandwidth_Bps;
    has_a_nic_per_rank = has_a_nic_per_rank && size[host] <= ranks_per_host && out[v].count == 1 &&
                         in[v].count == 1 && out[v].bandwidth_Bps == nic[host] &&
                         in[v].bandwidth_Bps == nic[host];
  }
}

}  // namespace hemiola::bounds
