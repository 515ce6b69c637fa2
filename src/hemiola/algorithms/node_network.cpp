// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/node_network.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/topology/host_links.hpp"
#include "hemiola/topology/slowed_links.hpp"

namespace hemiola::algorithms {
namespace {

constexpr int kSeveral = -2;

/// A word of which every bit depends on every bit.
std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ word >> 32) * 0x9E3779B97F4A7C15u;
  word = (word ^ word >> 29) * 0xBF58476D1CE4E5B9u;
  return word ^ word >> 32;
}

/// Per vertex the node whose ranks alone have links to it; kSeveral where several nodes' have, kNoHost where none has.
std::vector<int> nodes_beside(const Topology& topology) {
  std::vector<int> node(static_cast<std::size_t>(topology.vertex_count()), kNoHost);
  for (Rank rank : indices<Rank>(topology.rank_count()))
    node[static_cast<std::size_t>(rank)] = topology.node_of(rank);
  const auto note = [&](Vertex rank, Vertex other) {
    if (!topology.is_rank(rank) || topology.is_rank(other)) return;
    int& of = node[static_cast<std::size_t>(other)];
    const int found = topology.node_of(Rank{rank});
    of = of == kNoHost || of == found ? found : kSeveral;
  };
  for (const Link& link : topology.links()) {
    note(link.src, link.dst);
    note(link.dst, link.src);
  }
  return node;
}

/// Whether every rank reaches every other.
bool are_joined(const Topology& topology) {
  const auto reach = [&](auto begin, auto end, auto far_end) {
    std::vector<bool> seen(static_cast<std::size_t>(topology.vertex_count()));
    std::vector<Vertex> reached{Vertex{0}};
    seen[0] = true;
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const int* l = begin(reached[i]); l != end(reached[i]); ++l)
        if (const Vertex next = far_end(topology.link(*l)); !seen[static_cast<std::size_t>(next)]) {
          seen[static_cast<std::size_t>(next)] = true;
          reached.push_back(next);
        }
    return std::all_of(seen.begin(), seen.begin() + topology.rank_count(),
                       [](bool is_seen) { return is_seen; });
  };
  return reach([&](Vertex v) { return topology.out_begin(v); }, [&](Vertex v) { return topology.out_end(v); },
               [](const Link& link) { return link.dst; }) &&
         reach([&](Vertex v) { return topology.in_begin(v); }, [&](Vertex v) { return topology.in_end(v); },
               [](const Link& link) { return link.src; });
}

class Reader {
 public:
  Reader(const Topology& topology, const Conditions& conditions)
      : topology_(topology),
        bandwidth_(slowed_bandwidths(topology, conditions)),
        node_(nodes_beside(topology)),
        nodes_(static_cast<std::size_t>(topology.node_count())),
        vertices_of_(nodes_.size()) {
    for (int vertex = 0; vertex < topology.vertex_count(); ++vertex)
      if (is_inside(vertex)) vertices_of_[at(node_[at(vertex)])].push_back(vertex);
  }

  std::optional<NodeNetwork> read() {
    look_at_links();
    if (std::ranges::any_of(nodes_, [](const Node& node) { return node.out_Bps <= 0 || node.in_Bps <= 0; }))
      return {};
    const int slowest = slowest_node(), groups = group_count();
    const int node_count = static_cast<int>(nodes_.size()), per_group = node_count / groups;
    const int next = slowest / per_group * per_group + (slowest + 1) % per_group;
    const int far = groups == 1 ? next : (slowest + per_group) % node_count;
    int most = 0;
    for (int node = 0; node < node_count; ++node) most = std::max(most, rank_count(node));
    const auto in = inside(slowest), out = between(slowest, far, per_group),
               near = per_group == 1 ? out : between(slowest, next, 1);
    if (!in || !out || !near) return {};
    return NodeNetwork{.node_count = node_count,
                       .group_count = groups,
                       .ranks_per_node = rank_count(slowest),
                       .nic_count = nodes_[at(slowest)].nics,
                       .chunks_per_rank = static_cast<double>(most) / rank_count(slowest),
                       .inside = *in,
                       .near = *near,
                       .far = *out,
                       .is_even = is_even(groups),
                       .has_cables = has_cables_};
  }

 private:
  struct Node {
    std::uint64_t links = 0;  ///< a sum over hashes of its links, vertices counted within the node
    double out_Bps = 0, in_Bps = 0;
    int nics = 0;
    int outside = kNoHost;  ///< the lowest switch outside to which it has a link
  };

  bool is_inside(int vertex) const { return node_[at(vertex)] >= 0; }
  int rank_count(int node) const {
    return static_cast<int>(
        std::ranges::count_if(vertices_of_[at(node)], [&](int v) { return v < topology_.rank_count(); }));
  }
  /// A vertex counted within its node; -1 outside.
  int place_of(int vertex) const {
    if (!is_inside(vertex)) return -1;
    const std::vector<int>& all = vertices_of_[at(node_[at(vertex)])];
    return static_cast<int>(std::ranges::lower_bound(all, vertex) - all.begin());
  }

  void look_at_links() {
    for (int l = 0; l < topology_.link_count(); ++l) {
      const Link& link = topology_.link(l);
      std::uint64_t hash = 0;
      for (const std::uint64_t word :
           {static_cast<std::uint64_t>(place_of(link.src)), static_cast<std::uint64_t>(place_of(link.dst)),
            static_cast<std::uint64_t>(link.latency), static_cast<std::uint64_t>(link.message),
            std::bit_cast<std::uint64_t>(bandwidth_[at(l)])})
        hash = mixed(hash ^ word);
      if (is_inside(link.src)) nodes_[at(node_[at(link.src)])].links += hash;
      if (is_inside(link.dst)) nodes_[at(node_[at(link.dst)])].links += hash;
      if (is_inside(link.src) && !is_inside(link.dst)) leaves(link.src, link.dst, l);
      if (is_inside(link.dst) && !is_inside(link.src))
        nodes_[at(node_[at(link.dst)])].in_Bps += bandwidth_[at(l)];
      if (!is_inside(link.src) && !is_inside(link.dst)) outside_.push_back(l);
      if (is_inside(link.src) && is_inside(link.dst) && node_[at(link.src)] != node_[at(link.dst)])
        has_cables_ = true;
    }
  }

  void leaves(int from, int to, int link) {
    Node& node = nodes_[at(node_[at(from)])];
    node.out_Bps += bandwidth_[at(link)];
    ++node.nics;
    node.outside = node.outside == kNoHost ? to : std::min(node.outside, to);
  }

  /// How many groups of equally many consecutive nodes there are, each on a switch of its own; 1 where it is not so.
  int group_count() const {
    int count = 1;
    for (std::size_t n = 1; n < nodes_.size(); ++n) count += nodes_[n].outside != nodes_[n - 1].outside;
    const std::size_t size = nodes_.size() / at(count);
    if (nodes_.size() % at(count) != 0) return 1;
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (nodes_[n].outside != nodes_[n / size * size].outside) return 1;
    return count;
  }

  int slowest_node() const {
    int slowest = 0;
    const auto speed = [&](int n) { return std::min(nodes_[at(n)].out_Bps, nodes_[at(n)].in_Bps); };
    for (int n = 1; n < static_cast<int>(nodes_.size()); ++n)
      if (speed(n) < speed(slowest)) slowest = n;
    return slowest;
  }

  bool is_even(int group_count) const {
    for (const Node& node : nodes_)
      if (node.links != nodes_[0].links) return false;
    if (group_count == 1) return outside_.empty();
    for (const int l : outside_)
      if (bandwidth_[at(l)] != bandwidth_[at(outside_[0])] ||
          topology_.link(l).latency != topology_.link(outside_[0]).latency)
        return false;
    return true;
  }

  /// Some nodes by themselves, with the switches outside if asked for: ranks first, in the nodes' order.
  struct Excerpt {
    Topology topology;
    std::vector<double> bandwidth;
    std::vector<bool> is_outside;  ///< per link, whether neither end belongs to a node
  };
  Excerpt excerpt(const std::vector<int>& nodes, bool with_outside) const {
    std::vector<int> vertices, number(node_.size(), -1);
    const auto take = [&](bool ranks) {
      for (const int node : nodes)
        for (const int v : vertices_of_[at(node)])
          if ((v < topology_.rank_count()) == ranks) vertices.push_back(v);
    };
    take(true);
    const auto ranks = static_cast<int>(vertices.size());
    take(false);
    if (with_outside)
      for (int v = topology_.rank_count(); v < topology_.vertex_count(); ++v)
        if (!is_inside(v)) vertices.push_back(v);
    for (std::size_t i = 0; i < vertices.size(); ++i) number[at(vertices[i])] = static_cast<int>(i);
    std::vector<Link> links;
    std::vector<double> bandwidth;
    std::vector<bool> is_outside;
    for (int l = 0; l < topology_.link_count(); ++l) {
      Link link = topology_.link(l);
      if (number[at(link.src)] < 0 || number[at(link.dst)] < 0) continue;
      is_outside.push_back(!is_inside(link.src) && !is_inside(link.dst));
      link.src = Vertex{number[at(link.src)]};
      link.dst = Vertex{number[at(link.dst)]};
      links.push_back(link);
      bandwidth.push_back(bandwidth_[at(l)]);
    }
    return {Topology("", ranks, static_cast<int>(vertices.size()) - ranks, std::move(links)),
            std::move(bandwidth), std::move(is_outside)};
  }

  /// The slowest of the ways of these pairs while all of them are used at once. `sharers`: how many nodes use a link
  /// between switches outside at once. Nothing where there is no way.
  std::optional<Way> slowest_way(const Excerpt& on, const std::vector<RankPair>& pairs, int sharers) const {
    if (!are_joined(on.topology)) return {};
    const Routes routes(on.topology, pairs, 0);  // an excerpt may hold a NIC that is no way inside its host
    std::vector<int> users(static_cast<std::size_t>(on.topology.link_count()));
    for (std::uint32_t p = 0; p < pairs.size(); ++p)
      for (const int l : routes.path(p)) users[at(l)] += on.is_outside[at(l)] ? sharers : 1;
    Way slowest;
    for (std::uint32_t p = 0; p < pairs.size(); ++p) {
      Picoseconds latency = 0;
      for (const int l : routes.path(p)) {
        latency += on.topology.link(l).latency;
        slowest.s_per_byte = std::max(slowest.s_per_byte, users[at(l)] / on.bandwidth[at(l)]);
        slowest.message_s =
            std::max(slowest.message_s, users[at(l)] * to_seconds(on.topology.link(l).message));
      }
      slowest.latency_s = std::max(slowest.latency_s, to_seconds(latency));
    }
    return slowest;
  }

  /// Nothing where some rank of the node cannot reach another one without leaving it.
  std::optional<Way> inside(int node) const {
    std::vector<RankPair> pairs;
    for (Rank src : indices<Rank>(rank_count(node)))
      for (Rank dst : indices<Rank>(rank_count(node)))
        if (src != dst) pairs.push_back({src, dst});
    return slowest_way(excerpt({node}, false), pairs, 1);
  }

  /// Nothing where they cannot reach each other over switches.
  std::optional<Way> between(int node, int other, int sharers) const {
    const int ranks = rank_count(node), others = rank_count(other);
    std::vector<RankPair> pairs;
    for (Rank src : indices<Rank>(ranks)) pairs.push_back({src, Rank{ranks + src % others}});
    return slowest_way(excerpt({node, other}, true), pairs, sharers);
  }

  const Topology& topology_;
  std::vector<double> bandwidth_;  ///< per link, under the conditions
  std::vector<int> node_;
  std::vector<Node> nodes_;
  std::vector<std::vector<int>> vertices_of_;  ///< per node, ascending: its ranks, then its switches
  std::vector<int> outside_;                   ///< links between switches outside
  bool has_cables_ = false;
};

}  // namespace

std::optional<NodeNetwork> node_network(const Topology& topology, const Conditions& conditions) {
  if (topology.node_count() < 2) return {};  // no levels
  return Reader(topology, conditions).read();
}

}  // namespace hemiola::algorithms
