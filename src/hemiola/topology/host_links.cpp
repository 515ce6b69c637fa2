// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/host_links.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace hemiola {
namespace {

/// Finds the hosts of switches, group by group of those that are linked with each other.
class SwitchGroups {
 public:
  explicit SwitchGroups(const Topology& topology)
      : topology_(topology),
        host_(static_cast<std::size_t>(topology.vertex_count()), kNoHost),
        seen_(host_.size()) {
    for (Rank rank : indices<Rank>(topology.rank_count())) host_of(rank) = topology.node_of(rank);
    for (int vertex = topology.rank_count(); vertex < topology.vertex_count(); ++vertex)
      if (!seen_[static_cast<std::size_t>(vertex)]) settle_group(vertex);
  }

  std::vector<int> take() { return std::move(host_); }

 private:
  int& host_of(int vertex) { return host_[static_cast<std::size_t>(vertex)]; }

  void settle_group(int start) {
    std::vector<int> group{start}, hosts;
    seen_[static_cast<std::size_t>(start)] = true;
    const auto visit = [&](Vertex neighbour) {
      if (topology_.is_rank(neighbour)) {
        hosts.push_back(host_of(neighbour));
      } else if (!seen_[static_cast<std::size_t>(neighbour)]) {
        seen_[static_cast<std::size_t>(neighbour)] = true;
        group.push_back(neighbour);
      }
    };
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Vertex v{group[i]};
      for (const int* l = topology_.out_begin(v); l != topology_.out_end(v); ++l)
        visit(topology_.link(*l).dst);
      for (const int* l = topology_.in_begin(v); l != topology_.in_end(v); ++l) visit(topology_.link(*l).src);
    }
    const bool is_one_host = !hosts.empty() && std::count(hosts.begin(), hosts.end(), hosts[0]) ==
                                                   static_cast<std::ptrdiff_t>(hosts.size());
    for (const int vertex : group) host_of(vertex) = is_one_host ? hosts[0] : kNoHost;
  }

  const Topology& topology_;
  std::vector<int> host_;  ///< per vertex
  std::vector<bool> seen_;
};

/// Per vertex, the share of its host's ranks' bytes to it that goes on: less than 1 for a NIC that several
/// share.
std::vector<double> shares_that_go_on(const Topology& topology, const std::vector<double>& bandwidth) {
  constexpr int kSeveral = -2;
  const auto vertices = static_cast<std::size_t>(topology.vertex_count());
  std::vector<int> host(vertices, kNoHost);  // of the ranks that are linked to a switch
  std::vector<double> comes(vertices), goes(vertices), share(vertices, 1.0);
  for (std::size_t l = 0; l < bandwidth.size(); ++l) {
    const Link& link = topology.links()[l];
    const auto src = static_cast<std::size_t>(link.src), dst = static_cast<std::size_t>(link.dst);
    if (!topology.is_rank(link.dst)) goes[src] += bandwidth[l];
    if (!topology.is_rank(link.src)) continue;
    const int of_rank = topology.node_of(Rank{src});
    host[dst] = host[dst] == kNoHost || host[dst] == of_rank ? of_rank : kSeveral;
    comes[dst] += link.bandwidth_Bps;
  }
  for (std::size_t v = 0; v < vertices; ++v)
    if (!topology.is_rank(Vertex{v}) && host[v] >= 0 && goes[v] < comes[v]) share[v] = goes[v] / comes[v];
  return share;
}

}  // namespace

std::vector<int> host_of_vertices(const Topology& topology) {
  return SwitchGroups(topology).take();
}

std::vector<bool> links_between_hosts(const Topology& topology) {
  const std::vector<int> host = host_of_vertices(topology);
  std::vector<bool> between;
  for (const Link& link : topology.links()) {
    const int from = host[static_cast<std::size_t>(link.src)], to = host[static_cast<std::size_t>(link.dst)];
    between.push_back(from != to || from == kNoHost);
  }
  return between;
}

std::vector<double> vertex_bandwidths(const Topology& topology, const std::vector<double>& bandwidth) {
  const std::vector<bool> between = links_between_hosts(topology);
  const std::vector<double> share = shares_that_go_on(topology, bandwidth);
  std::vector<double> of_vertex(static_cast<std::size_t>(topology.vertex_count()));
  for (std::size_t l = 0; l < bandwidth.size(); ++l) {
    const Link& link = topology.links()[l];
    if (between[l])
      of_vertex[static_cast<std::size_t>(link.src)] +=
          bandwidth[l] * share[static_cast<std::size_t>(link.dst)];
  }
  return of_vertex;
}

std::vector<double> host_bandwidths(const Topology& topology, const std::vector<double>& bandwidth) {
  const std::vector<int> host = host_of_vertices(topology);
  const std::vector<double> of_vertex = vertex_bandwidths(topology, bandwidth);
  const auto hosts = static_cast<std::size_t>(topology.node_count());
  std::vector<double> together(hosts), weakest(hosts, std::numeric_limits<double>::infinity());
  std::vector<int> ranks(hosts);
  for (std::size_t v = 0; v < host.size(); ++v) {
    if (host[v] == kNoHost) continue;
    const auto h = static_cast<std::size_t>(host[v]);
    together[h] += of_vertex[v];
    if (!topology.is_rank(Vertex{v})) continue;
    ++ranks[h];
    weakest[h] = std::min(weakest[h], of_vertex[v]);
  }
  for (std::size_t h = 0; h < hosts; ++h)
    if (weakest[h] > 0) together[h] = weakest[h] * ranks[h];
  return together;
}

SlowHosts slow_hosts(const Topology& topology, const std::vector<double>& bandwidth) {
  constexpr double kAlike = 1 + 1e-9;  // bandwidths that differ by less are one
  const int hosts = std::max(topology.node_count(), 1);
  SlowHosts found{topology.rank_count() / hosts, {}};
  if (hosts < 2 || found.ranks_per_host < 2 || topology.rank_count() % hosts != 0) return found;
  for (Rank rank : indices<Rank>(topology.rank_count()))
    if (topology.node_of(rank) != rank / found.ranks_per_host) return found;
  const std::vector<double> of_host = host_bandwidths(topology, bandwidth);
  const auto [slowest, fastest] = std::minmax_element(of_host.begin(), of_host.end());
  if (*slowest <= 0) return found;
  for (int host = 0; host < hosts; ++host) {
    const double own = of_host[static_cast<std::size_t>(host)];
    if (*fastest > own * kAlike) found.factors[host] = *fastest / own;
  }
  return found;
}

}  // namespace hemiola
