// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/degraded.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/topology/host_links.hpp"
#include "hemiola/topology/nics.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola {
namespace {

std::string text_of(const Topology& topology, VertexPair pair) {
  const auto text = [&](Vertex v) {
    const bool is_named = v >= 0 && v < topology.vertex_count() && !topology.vertex_names().empty() &&
                          !topology.vertex_names()[at(v)].empty();
    return is_named ? topology.vertex_names()[at(v)] : std::to_string(v);
  };
  return text(pair.first) + " -> " + text(pair.second);
}

void check_rank(const Topology& topology, Rank rank) {
  if (rank < 0 || rank >= topology.rank_count())
    throw ArgumentError("expected ranks 0 … " + std::to_string(topology.rank_count() - 1) + ", found " +
                        std::to_string(rank));
}

void check_link_exists(const Topology& topology, VertexPair pair) {
  const auto [src, dst] = pair;
  bool found = false;
  if (src >= 0 && src < topology.vertex_count())
    for (const int* l = topology.out_begin(src); l != topology.out_end(src) && !found; ++l)
      found = topology.link(*l).dst == dst;
  if (!found)
    throw ArgumentError("there is no link " + text_of(topology, pair) + " in topology '" + topology.name() +
                        "'");
}

void check_factor(const std::string& what, double factor) {
  if (!(std::isfinite(factor) && factor >= 1))
    throw ArgumentError("expected a finite factor of at least 1 for " + what + ", found " +
                        std::to_string(factor));
}

std::string counted(std::size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

constexpr int kGone = -1;

/// New numbers of the hosts whose ranks stay, in their order; kGone for a host that has none.
std::vector<int> renumber_hosts(const Topology& topology, const std::vector<int>& rank_number) {
  std::vector<int> number(static_cast<std::size_t>(topology.node_count()), kGone);
  for (Rank rank : indices<Rank>(topology.rank_count()))
    if (rank_number[static_cast<std::size_t>(rank)] >= 0)
      number[static_cast<std::size_t>(topology.node_of(rank))] = 0;
  int next = 0;
  for (int& host : number)
    if (host >= 0) host = next++;
  return number;
}

std::vector<std::string> names_of_part(const Topology& topology, const std::vector<Rank>& ranks,
                                       const std::vector<int>& host_number) {
  const std::vector<std::string>& names = topology.vertex_names();
  if (names.empty()) return {};
  std::vector<std::string> left;
  for (Rank rank : ranks) left.push_back(names[at(rank)]);
  left.insert(left.end(), names.begin() + topology.rank_count(), names.end());
  return names_with_hosts(std::move(left), host_number);
}

/// Of these ranks alone, numbered in this order.
Topology part_of(const Topology& topology, const std::vector<Rank>& ranks) {
  if (ranks.empty())
    throw ArgumentError("topology '" + topology.name() + "': no rank would be left; keep at least one");
  const int gone_count = topology.rank_count() - static_cast<int>(ranks.size());
  std::vector<int> number(static_cast<std::size_t>(topology.rank_count()), kGone);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    number[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
  const auto renumbered = [&](Vertex v) {
    return topology.is_rank(v) ? number[static_cast<std::size_t>(v)] : v - gone_count;
  };
  std::vector<Link> links;
  std::vector<int> link_number;
  for (Link link : topology.links()) {
    const int src = renumbered(link.src), dst = renumbered(link.dst);
    const bool stays = src != kGone && dst != kGone;
    link_number.push_back(stays ? static_cast<int>(links.size()) : kGone);
    if (!stays) continue;
    link.src = Vertex{src};
    link.dst = Vertex{dst};
    links.push_back(link);
  }
  const std::vector<int> host_number = renumber_hosts(topology, number);
  std::vector<int> nodes;
  for (Rank rank : ranks) nodes.push_back(host_number[static_cast<std::size_t>(topology.node_of(rank))]);
  std::string name = topology.name();
  if (gone_count > 0) name += " without " + counted(static_cast<std::size_t>(gone_count), "rank");
  if (!std::ranges::is_sorted(ranks)) name += " in another order";
  return Topology(std::move(name), static_cast<int>(ranks.size()), topology.switch_count(), std::move(links),
                  std::move(nodes), renumbered_nics(topology.nics(), link_number, host_number),
                  names_of_part(topology, ranks, host_number), topology.hardware());
}

/// Of the links alone that `stays` says.
template <typename Stays>
Topology of_links(const Topology& topology, const Stays& stays) {
  std::vector<Link> links;
  std::vector<int> number;
  for (int l = 0; l < topology.link_count(); ++l) {
    number.push_back(stays(l) ? static_cast<int>(links.size()) : -1);
    if (stays(l)) links.push_back(topology.link(l));
  }
  const std::string name =
      topology.name() + " without " + counted(topology.links().size() - links.size(), "link");
  return Topology(name, topology.rank_count(), topology.switch_count(), std::move(links),
                  topology.node_of_rank(), renumbered_nics(topology.nics(), number), topology.vertex_names(),
                  topology.hardware());
}

/// Per link, the factor of the slower of the cards that carry it.
std::vector<double> nic_factors(const Topology& topology, const std::map<std::string, double>& nics) {
  std::vector<double> factors(topology.links().size(), 1.0);
  for (const auto& [text, factor] : nics)
    for (const int link : find_nic(topology, text).links) {
      double& slowest = factors[static_cast<std::size_t>(link)];
      slowest = std::max(slowest, factor);
    }
  return factors;
}

}  // namespace

Topology without_links(const Topology& topology, const std::vector<VertexPair>& pairs) {
  for (VertexPair pair : pairs) check_link_exists(topology, pair);
  const std::set<VertexPair> gone(pairs.begin(), pairs.end());
  return of_links(topology,
                  [&](int l) { return !gone.contains({topology.link(l).src, topology.link(l).dst}); });
}

Topology without_nics(const Topology& topology, const std::vector<std::string>& nics) {
  std::set<int> gone;
  for (const std::string& text : nics) {
    const Nic& nic = find_nic(topology, text);
    gone.insert(nic.links.begin(), nic.links.end());
  }
  return of_links(topology, [&](int l) { return !gone.contains(l); });
}

Topology without_ranks(const Topology& topology, const std::vector<Rank>& ranks) {
  for (Rank rank : ranks) check_rank(topology, rank);
  const std::set<Rank> gone(ranks.begin(), ranks.end());
  std::vector<Rank> staying;
  for (Rank rank : indices<Rank>(topology.rank_count()))
    if (!gone.contains(rank)) staying.push_back(rank);
  return part_of(topology, staying);
}

Topology of_ranks(const Topology& topology, const std::vector<Rank>& ranks) {
  std::set<Rank> named;
  for (Rank rank : ranks) {
    check_rank(topology, rank);
    if (!named.insert(rank).second)
      throw ArgumentError("topology '" + topology.name() + "': rank " + std::to_string(rank) +
                          " is named twice; name each once");
  }
  return part_of(topology, ranks);
}

Topology degraded(const Topology& topology, const Slowdown& slowdown) {
  for (const auto& [rank, factor] : slowdown.ranks) {
    check_rank(topology, rank);
    check_factor("rank " + std::to_string(rank), factor);
  }
  for (const auto& [pair, factor] : slowdown.links) {
    check_link_exists(topology, pair);
    check_factor("link " + text_of(topology, pair), factor);
  }
  for (const auto& [text, factor] : slowdown.nics) check_factor("NIC " + text, factor);
  const std::vector<double> of_nics = nic_factors(topology, slowdown.nics);
  const auto factor_at = [&](Vertex v) {
    const auto it = slowdown.ranks.find(Rank{v});
    return topology.is_rank(v) && it != slowdown.ranks.end() ? it->second : 1.0;
  };
  std::vector<Link> links = topology.links();
  for (std::size_t l = 0; l < links.size(); ++l) {
    Link& link = links[l];
    const auto it = slowdown.links.find({link.src, link.dst});
    const double own = it == slowdown.links.end() ? 1.0 : it->second;
    link.bandwidth_Bps /= std::max(factor_at(link.src), factor_at(link.dst)) * of_nics[l] * own;
  }
  return Topology(topology.name() + " degraded", topology.rank_count(), topology.switch_count(),
                  std::move(links), topology.node_of_rank(), topology.nics(), topology.vertex_names(),
                  topology.hardware());
}

Topology with_slow_hosts(const Topology& topology, const std::map<int, double>& factors) {
  for (const auto& [host, factor] : factors) {
    if (host < 0 || host >= topology.node_count())
      throw ArgumentError("topology '" + topology.name() + "' has no host " + std::to_string(host) +
                          ", expected 0 … " + std::to_string(topology.node_count() - 1));
    check_factor("host " + std::to_string(host), factor);
  }
  const std::vector<int> host_of = host_of_vertices(topology);
  const std::vector<bool> between = links_between_hosts(topology);
  const auto factor_at = [&](Vertex v) {
    const auto it = factors.find(host_of[static_cast<std::size_t>(v)]);
    return it == factors.end() ? 1.0 : it->second;
  };
  std::vector<Link> links = topology.links();
  for (std::size_t l = 0; l < links.size(); ++l)
    if (between[l]) links[l].bandwidth_Bps /= std::max(factor_at(links[l].src), factor_at(links[l].dst));
  return Topology(topology.name() + " with slow hosts", topology.rank_count(), topology.switch_count(),
                  std::move(links), topology.node_of_rank(), topology.nics(), topology.vertex_names(),
                  topology.hardware());
}

}  // namespace hemiola
