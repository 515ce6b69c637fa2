// SPDX-License-Identifier: Apache-2.0
// An all-reduce up and down the same spanning trees, between ranks joined both ways. Every piece is added up
// on its way to its tree's root and comes back the way it went, so that each tree takes each of its edges
// once in either direction.
#pragma once

#include <optional>
#include <vector>

#include "hemiola/synthesis/forest/forest_options.hpp"
#include "hemiola/synthesis/forest/rooted_tree.hpp"
#include "hemiola/synthesis/forest/shared_trees.hpp"
#include "hemiola/synthesis/forest/two_way_links.hpp"
#include "hemiola/synthesis/synthesize.hpp"

namespace hemiola::synthesis {

class ReduceTrees {
 public:
  /// Every rank must reach every other. Both are kept by reference.
  ReduceTrees(const Topology& topology, const ForestOptions& options);

  /// Where ranks do not reach each other both ways without passing others, no trees do.
  bool exist() const { return links_ || shared_; }
  /// No all-reduce can beat it: over two-way links between ranks the exact optimum of the bandwidth.
  Picoseconds bound() const { return bound_; }
  Synthesis operator()() const;

 private:
  std::vector<RootedTree> plant() const;
  std::vector<RootedTree> plant_on_links() const;

  const Topology& topology_;
  const ForestOptions& options_;
  std::optional<TwoWayLinks> links_;
  std::optional<SharedTrees> shared_;  ///< where links are not two-way links between ranks
  double optimum_Bps_ = 0;
  Picoseconds bound_ = 0;
};

}  // namespace hemiola::synthesis
