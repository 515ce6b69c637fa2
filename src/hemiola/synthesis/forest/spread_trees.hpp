// SPDX-License-Identifier: Apache-2.0
// Equally many spanning trees from every rank, along which it spreads its share, or collects it where they are turned
// round [ForestColl, §5]. An all-reduce does one after the other; of a broadcast and a reduce all trees have one root
// [edmonds1973].
#pragma once

#include "hemiola/synthesis/forest/capacity_graph.hpp"
#include "hemiola/synthesis/forest/forest_options.hpp"
#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/synthesis/synthesize.hpp"
#include "hemiola/trees/turns.hpp"

namespace hemiola::synthesis {

class SpreadTrees {
 public:
  /// Every chunk must be able to get where it is wanted. Both are kept by reference. Cost: the slowest cut of either
  /// direction.
  SpreadTrees(const Topology& topology, const ForestOptions& options);

  /// The exact optimum of the bandwidth for one such phase, or two.
  Picoseconds bound() const { return bound_; }
  /// Throws ArgumentError where a switch cannot be replaced by links between ranks.
  Synthesis operator()() const;

 private:
  struct Rate;
  double share_Bps(bool against) const;
  bool reduces() const;
  bool spreads() const;
  int root_count() const;
  TreesFrom trees_from_roots(int trees) const;
  Rate best_rate(int trees, bool against) const;
  Rate choose_rate(bool against) const;
  trees::Turned gather(const Channels& channels, Rate rate, bool against) const;

  const Topology& topology_;
  const ForestOptions& options_;
  bool has_one_root_;
  double along_Bps_ = 0, against_Bps_ = 0;  ///< each root's share at the slowest cut
  Picoseconds bound_ = 0;
};

}  // namespace hemiola::synthesis
