// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/unwound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/topology/fabric.hpp"

namespace hemiola {
namespace {

/// The ranks that use a fabric, in the order of the circle: first ranks of all hosts, second ranks of all hosts, …
std::vector<Rank> circle_of(const Fabric& fabric, const Topology& topology) {
  std::vector<Rank> ranks;
  for (const auto& [vertex, links] : fabric.entering)
    if (fabric.leaving.contains(vertex)) ranks.push_back(Rank{vertex});
  std::sort(ranks.begin(), ranks.end());
  std::map<int, int> seen_on_node;
  std::vector<std::tuple<int, int, Rank>> order;  // place on its host, host, rank
  for (Rank rank : ranks) {
    const int node = topology.node_of(rank);
    order.emplace_back(seen_on_node[node]++, node, rank);
  }
  std::sort(order.begin(), order.end());
  std::transform(order.begin(), order.end(), ranks.begin(),
                 [](const auto& key) { return std::get<Rank>(key); });
  return ranks;
}

struct Wire {
  Rank src;
  Rank dst;
  std::vector<int> path;  ///< indices into the fabric's links
};

/// From every rank of the circle to its next `degree` ranks.
std::vector<Wire> wires_through(const Fabric& fabric, const Topology& topology, int degree) {
  const std::vector<Rank> circle = circle_of(fabric, topology);
  const std::size_t rank_count = circle.size();
  if (rank_count < 2) return {};
  const std::size_t successors = std::min(static_cast<std::size_t>(degree), rank_count - 1);
  if (rank_count * successors > static_cast<std::size_t>(Topology::kMaxLinks))
    throw ArgumentError("unwind_switches: degree " + std::to_string(degree) + " needs " +
                        std::to_string(rank_count * successors) + " links, more than " +
                        std::to_string(Topology::kMaxLinks) + "; choose a smaller one");
  std::vector<Wire> wires;
  for (std::size_t i = 0; i < rank_count; ++i) {
    const FabricPaths paths(fabric, circle[i]);
    heed_interrupt(static_cast<std::int64_t>(fabric.links.size()));
    for (std::size_t j = 1; j <= successors; ++j) {
      const Rank next = circle[(i + j) % rank_count];
      wires.push_back({circle[i], next, paths.path_to(next, circle[i] + next)});
      if (wires.back().path.empty())
        throw ArgumentError("unwind_switches: rank " + std::to_string(circle[i]) + " does not reach rank " +
                            std::to_string(next) +
                            " through the switches that both use; link these both ways");
    }
  }
  return wires;
}

/// The cards that wires pass: those of the topology, each with the new links that it carries.
class PassedCards {
 public:
  explicit PassedCards(const Topology& topology) : nics_(topology.nics()) {
    for (std::size_t n = 0; n < nics_.size(); ++n) {
      for (const int l : nics_[n].links) cards_[{topology.link(l).src, topology.link(l).dst}].push_back(n);
      nics_[n].links.clear();
    }
  }

  /// The new link `link` lies along a hop of the topology, which parallel links may be.
  void pass(const Link& hop, std::size_t link) {
    const auto it = cards_.find({hop.src, hop.dst});
    if (it == cards_.end()) return;
    for (const std::size_t n : it->second) nics_[n].links.push_back(static_cast<int>(link));
  }

  std::vector<Nic> take() {
    std::erase_if(nics_, [](const Nic& nic) { return nic.links.empty(); });
    return std::move(nics_);
  }

 private:
  std::vector<Nic> nics_;
  std::map<VertexPair, std::vector<std::size_t>> cards_;  ///< places in nics_
};

/// A wire's latency is the sum along its path; its bandwidth is the smallest equal share of a link on it. Its
/// cost of a message is the largest that a link takes for one message on each of the wires that share it.
void append_links(const Fabric& fabric, const std::vector<Wire>& wires, std::vector<Link>* links,
                  PassedCards* cards) {
  std::vector<int> load(fabric.links.size(), 0);
  for (const Wire& wire : wires)
    for (int l : wire.path) ++load[static_cast<std::size_t>(l)];
  for (const Wire& wire : wires) {
    Link link{Vertex{wire.src}, Vertex{wire.dst}, 0, std::numeric_limits<double>::infinity()};
    for (int l : wire.path) {
      const Link& hop = fabric.links[static_cast<std::size_t>(l)];
      link.latency += hop.latency;
      const int wires_on_hop = load[static_cast<std::size_t>(l)];
      link.bandwidth_Bps = std::min(link.bandwidth_Bps, hop.bandwidth_Bps / wires_on_hop);
      link.message = std::max(link.message, hop.message * wires_on_hop);
      cards->pass(hop, links->size());
    }
    links->push_back(link);
  }
}

std::vector<std::string> names_of_ranks(const Topology& topology) {
  const std::vector<std::string>& names = topology.vertex_names();
  if (names.empty()) return {};
  return {names.begin(), names.begin() + topology.rank_count()};
}

}  // namespace

Topology unwound(const Topology& topology, int degree) {
  if (degree < 1)
    throw ArgumentError("unwind_switches: expected a degree of at least 1, found " + std::to_string(degree));
  std::vector<Link> links;
  PassedCards cards(topology);
  for (const Link& link : topology.links()) {
    if (!topology.is_rank(link.src) || !topology.is_rank(link.dst)) continue;
    cards.pass(link, links.size());
    links.push_back(link);
  }
  for (const Fabric& fabric : fabrics_of(topology)) {
    append_links(fabric, wires_through(fabric, topology, degree), &links, &cards);
  }
  return Topology(topology.name() + " unwound by " + std::to_string(degree), topology.rank_count(), 0,
                  std::move(links), topology.node_of_rank(), cards.take(), names_of_ranks(topology),
                  {topology.hardware().launch, {}});
}

}  // namespace hemiola
