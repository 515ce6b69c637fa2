// SPDX-License-Identifier: Apache-2.0
// Every builder's tools to lay cables: the cost of a link, and a list of links that grows under the
// topology's limits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::topologies {

/// α and 1/β of a link, and how long a message occupies it beside its bytes.
struct LinkCost {
  Picoseconds latency = 0;
  double bandwidth_Bps = 0;
  Picoseconds message = 0;
};

/// The same in seconds and bytes per second; throws ArgumentError for a number that no link can have.
LinkCost link_cost(double latency_s, double bandwidth_Bps, double message_s);

/// Half the latency, everything else the same: a path of two such hops through a switch costs `cost` in all.
constexpr LinkCost half_way(LinkCost cost) {
  return {cost.latency / 2, cost.bandwidth_Bps, cost.message};
}
/// The other half, so that an odd number of picoseconds loses nothing.
constexpr LinkCost other_half(LinkCost cost) {
  return {cost.latency - cost.latency / 2, cost.bandwidth_Bps, cost.message};
}

/// Throws ArgumentError "<builder>: expected <what> between <low> and <high>, found <value>".
void check_range(const char* builder, const char* what, std::int64_t value, std::int64_t low,
                 std::int64_t high);

/// Throws ArgumentError when a builder would exceed a Topology's limits; call before allocating.
void check_size(const char* builder, std::int64_t vertex_count, std::int64_t link_count);

class Wiring {
 public:
  void reserve(std::int64_t link_count) { links_.reserve(static_cast<std::size_t>(link_count)); }
  void one_way(Vertex src, Vertex dst, LinkCost cost) {
    heed_interrupt(1);
    links_.push_back({src, dst, cost.latency, cost.bandwidth_Bps, cost.message});
  }
  void both_ways(Vertex a, Vertex b, LinkCost cost) {
    one_way(a, b, cost);
    one_way(b, a, cost);
  }
  /// A port of `vertex` on `switch_vertex`; two of them in a row cost `path`.
  void port(Vertex vertex, Vertex switch_vertex, LinkCost path) {
    one_way(vertex, switch_vertex, half_way(path));
    one_way(switch_vertex, vertex, other_half(path));
  }
  int link_count() const { return static_cast<int>(links_.size()); }
  /// Makes the links laid since `first_link` (the link_count before) a card's; a card may have several parts.
  void name_nic(std::string name, int host, int first_link) {
    Nic nic{std::move(name), host, {}};
    for (int link = first_link; link < link_count(); ++link) nic.links.push_back(link);
    nics_.push_back(std::move(nic));
  }
  std::vector<Link> take() { return std::move(links_); }
  std::vector<Nic> take_nics() { return std::move(nics_); }

 private:
  std::vector<Link> links_;
  std::vector<Nic> nics_;
};

}  // namespace hemiola::topologies
