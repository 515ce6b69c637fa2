// SPDX-License-Identifier: Apache-2.0
// How many spanning trees of one bandwidth to pack into two-way links, and how thick they can be. Every
// partition's capacity decides it before any tree is laid [tutte1961; nashwilliams1961].
#pragma once

#include "hemiola/synthesis/forest/two_way_links.hpp"

namespace hemiola::synthesis {

struct TreeRate {
  int trees = 0;
  double tree_Bps = 0;
  double total_Bps() const { return trees * tree_Bps; }
};

/// The exact optimum: no trees, of any bandwidths, carry more together.
double strength_Bps(const TwoWayLinks& links);

/// `trees` of the largest bandwidth at which they fit; with 0, the fewest up to 64 that come within 1 % of the
/// optimum, or the number that comes nearest. Every rank must reach every other.
TreeRate choose_rate(const TwoWayLinks& links, int trees, double optimum_Bps);

}  // namespace hemiola::synthesis
