#include "hemiola/topology/degraded.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/topology/host_links.hpp"

namespace hemiola {
namespace {

std::string text_of(VertexPair pair) {
  return std::to_string(pair.first) + " -> " + std::to_string(pair.second);
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
    throw ArgumentError("there is no link " + text_of(pair) + " in topology '" + topology.name() + "'");
}

void check_factor(const std::string& what, double factor) {
  if (!(std::isfinite(factor) && factor >= 1))
    throw ArgumentError("expected a finite factor of at least 1 for " + what + ", found " +
                        std::to_string(factor));
}

std::string counted(std::size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Number of each index after those in `gone` have been taken out; -1 for these.
std::vector<int> renumber(int count, const std::set<Rank>& gone) {
  std::vector<int> number;
  int next = 0;
  for (Rank rank : indices<Rank>(count)) number.push_back(gone.contains(rank) ? -1 : next++);
  return number;
}

/// The hosts of the ranks that stay, numbered by first appearance where a host has gone.
std::vector<int> remaining_nodes(const Topology& topology, const std::vector<int>& number) {
  std::vector<int> nodes;
  std::map<int, int> renumbered;  // keeps the order of the hosts' old numbers
  for (Rank rank : indices<Rank>(topology.rank_count()))
    if (number[static_cast<std::size_t>(rank)] >= 0) renumbered[topology.node_of(rank)] = 0;
  int next = 0;
  for (auto& [old_node, node] : renumbered) node = next++;
  for (Rank rank : indices<Rank>(topology.rank_count()))
    if (number[static_cast<std::size_t>(rank)] >= 0) nodes.push_back(renumbered[topology.node_of(rank)]);
  return nodes;
}

}  // namespace

Topology without_links(const Topology& topology, const std::vector<VertexPair>& pairs) {
  for (VertexPair pair : pairs) check_link_exists(topology, pair);
  const std::set<VertexPair> gone(pairs.begin(), pairs.end());
  std::vector<Link> links;
  for (const Link& link : topology.links())
    if (!gone.contains({link.src, link.dst})) links.push_back(link);
  const std::string name =
      topology.name() + " without " + counted(topology.links().size() - links.size(), "link");
  return Topology(name, topology.rank_count(), topology.switch_count(), std::move(links),
                  topology.node_of_rank());
}

Topology without_ranks(const Topology& topology, const std::vector<Rank>& ranks) {
  for (Rank rank : ranks) check_rank(topology, rank);
  const std::set<Rank> gone(ranks.begin(), ranks.end());
  const int gone_count = static_cast<int>(gone.size());
  if (gone_count == topology.rank_count())
    throw ArgumentError("topology '" + topology.name() + "': no rank would be left; keep at least one");
  const std::vector<int> number = renumber(topology.rank_count(), gone);
  const auto renumbered = [&](Vertex v) {
    return topology.is_rank(v) ? number[static_cast<std::size_t>(v)] : v - gone_count;
  };
  std::vector<Link> links;
  for (Link link : topology.links()) {
    const int src = renumbered(link.src), dst = renumbered(link.dst);
    if (src < 0 || dst < 0) continue;
    link.src = Vertex{src};
    link.dst = Vertex{dst};
    links.push_back(link);
  }
  return Topology(topology.name() + " without " + counted(gone.size(), "rank"),
                  topology.rank_count() - gone_count, topology.switch_count(), std::move(links),
                  remaining_nodes(topology, number));
}

Topology degraded(const Topology& topology, const Slowdown& slowdown) {
  for (const auto& [rank, factor] : slowdown.ranks) {
    check_rank(topology, rank);
    check_factor("rank " + std::to_string(rank), factor);
  }
  for (const auto& [pair, factor] : slowdown.links) {
    check_link_exists(topology, pair);
    check_factor("link " + text_of(pair), factor);
  }
  const auto factor_at = [&](Vertex v) {
    const auto it = slowdown.ranks.find(Rank{v});
    return topology.is_rank(v) && it != slowdown.ranks.end() ? it->second : 1.0;
  };
  std::vector<Link> links = topology.links();
  for (Link& link : links) {
    const auto it = slowdown.links.find({link.src, link.dst});
    const double own = it == slowdown.links.end() ? 1.0 : it->second;
    link.bandwidth_Bps /= std::max(factor_at(link.src), factor_at(link.dst)) * own;
  }
  return Topology(topology.name() + " degraded", topology.rank_count(), topology.switch_count(),
                  std::move(links), topology.node_of_rank());
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
                  std::move(links), topology.node_of_rank());
}

}  // namespace hemiola
