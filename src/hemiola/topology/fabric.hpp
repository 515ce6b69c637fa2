// SPDX-License-Identifier: Apache-2.0
// The switches of a topology as seen by ranks: separate fabrics, and the shortest ways through each from rank to rank.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Switches that are linked to each other in any way, and the links by which ranks enter and leave them.
struct Fabric {
  std::vector<Link>
      links;  ///< parallel ones merged: bandwidths added, the largest latency and cost of a message
  std::unordered_map<Vertex, std::vector<int>> entering;  ///< rank → links into the fabric
  std::unordered_map<Vertex, std::vector<int>> crossing;  ///< switch → links to other switches
  std::unordered_map<Vertex, std::vector<int>> leaving;   ///< rank → links out of the fabric
};

/// Every link that touches a switch is in exactly one fabric. In order of their first links; deterministic.
std::vector<Fabric> fabrics_of(const Topology& topology);

/// Shortest paths from one rank through a fabric: fewest hops, then least latency.
class FabricPaths {
 public:
  FabricPaths(const Fabric& fabric, Rank src);

  /// Indices into the fabric's links, last one first; empty where there is no path. Equal paths take turns by `turn`.
  std::vector<int> path_to(Rank dst, int turn) const;

 private:
  using Score = std::pair<int, Picoseconds>;  ///< hops, latency
  struct Reach {
    Score score;
    std::vector<int> last_links;  ///< of all shortest paths to this switch
  };

  const Link& link(int l) const { return fabric_.links[static_cast<std::size_t>(l)]; }
  Score beyond(const Score& score, int l) const { return {score.first + 1, score.second + link(l).latency}; }
  void relax(const Score& before, int l, std::vector<Vertex>* reached);

  const Fabric& fabric_;
  std::unordered_map<Vertex, Reach> reach_;
};

}  // namespace hemiola
