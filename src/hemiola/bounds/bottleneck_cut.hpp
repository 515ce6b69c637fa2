// SPDX-License-Identifier: Apache-2.0
// The cut of a topology that limits a collective's bandwidth, exactly: sets of vertices that hold something which ranks
// beyond must get, over the links that leave the set [ForestColl, §4].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hemiola/bounds/max_flow.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::bounds {

struct Cut {
  std::vector<bool> inside;  ///< per vertex
  int ranks_inside = 0;      ///< at least one, and not all
  FlowNetwork::Amount bandwidth_Bps =
      0;  ///< of all links that leave it, each rounded up to whole bytes per second
};

enum class Sense { along_links, against_links };

class CutSearch {
 public:
  /// Every rank must reach every other. `against_links` turns every link round. Cost of each search: a few maximum
  /// flows per rank, most of them local: ranks that are known to get enough count as sources for the others.
  CutSearch(const Topology& topology, const std::vector<double>& bandwidth_Bps, Sense sense);

  /// Where every rank gets everything from all: the cut with the most ranks inside per bandwidth. An all-gather of
  /// n equal shares takes ranks_inside * share / bandwidth_Bps, and can come as near to that as one likes
  /// [ForestColl, §4].
  Cut slowest_spreading();
  /// Where one rank sends everything to all: the cut of least bandwidth around it.
  Cut weakest_around(Rank root);
  /// Where one rank sends each other rank its own share: the cut with the most ranks outside per bandwidth.
  Cut slowest_scattering(Rank root);
  /// Where every rank sends each other rank its own share: of the sets of ranks 0 … k, each with the switches that suit
  /// it, the cut with the most pairs per bandwidth. The slowest of all sets is NP-hard to find; numbering that follows
  /// boxes or a grid has it among these.
  Cut slowest_exchange();

 private:
  Cut around(std::vector<bool> inside) const;
  Cut all_but(Rank rank) const;
  Cut before_cut() const;
  void reset_sources(FlowNetwork::Amount capacity);

  int rank_count_, vertex_count_;
  std::vector<int> from_, to_;
  std::vector<std::int64_t> bandwidth_;
  std::vector<int> link_arc_, source_arc_, sink_arc_;
  FlowNetwork flow_;
  int source_, sink_;
};

}  // namespace hemiola::bounds
