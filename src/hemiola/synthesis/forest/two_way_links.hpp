// SPDX-License-Identifier: Apache-2.0
// A network of ranks whose links are the same in both directions, as a graph of edges that trees may take up and down.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hemiola/bounds/strength.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::synthesis {

struct TwoWayLinks {
  int rank_count = 0;
  std::vector<std::pair<int, int>> ends;  ///< sorted, the smaller first
  std::vector<double> bandwidth_Bps;      ///< of each direction

  std::size_t count() const { return ends.size(); }
  /// How many trees that take `tree_Bps` each edge carries, at most `trees`.
  std::vector<bounds::Edge> copies(double tree_Bps, int trees) const;
  /// With bandwidths rounded up to whole bytes per second.
  std::vector<bounds::Edge> edges() const;
};

/// Nothing where there are switches, parallel links, or a pair of ranks whose links differ in bandwidth.
std::optional<TwoWayLinks> two_way_links(const Topology& topology);

}  // namespace hemiola::synthesis
