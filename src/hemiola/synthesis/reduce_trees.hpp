// An all-reduce up and down the same spanning trees: every piece is added up on its way to its tree's root and comes
// back the way it went, so that each tree takes each of its edges once in either direction.
#pragma once

#include <vector>

#include "hemiola/synthesis/forest_options.hpp"
#include "hemiola/synthesis/rooted_tree.hpp"
#include "hemiola/synthesis/synthesize.hpp"
#include "hemiola/synthesis/two_way_links.hpp"

namespace hemiola::synthesis {

class ReduceTrees {
 public:
  /// Every rank must reach every other; `links` are the topology's. All are kept by reference.
  ReduceTrees(const Topology& topology, const TwoWayLinks& links, const ForestOptions& options);

  /// The exact optimum of the bandwidth: no all-reduce can beat it.
  Picoseconds bound() const { return bound_; }
  Synthesis operator()() const;

 private:
  std::vector<RootedTree> plant() const;

  const Topology& topology_;
  const TwoWayLinks& links_;
  const ForestOptions& options_;
  double optimum_Bps_;
  Picoseconds bound_ = 0;
};

}  // namespace hemiola::synthesis
