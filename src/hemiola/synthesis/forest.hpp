// All-gather, reduce-scatter and all-reduce at a topology's full bandwidth: spanning trees that share all links without
// crowding any, and many small chunks down each [ForestColl].
#pragma once

#include "hemiola/synthesis/options.hpp"
#include "hemiola/synthesis/synthesize.hpp"

namespace hemiola::synthesis {

struct ForestOptions {
  CollectiveKind kind = CollectiveKind::all_gather;
  int trees =
      0;  ///< per rank; 0: the fewest up to 16 that come within 1 % of the exact optimum, or nearest to it
  int pieces = 8;  ///< chunks down each tree, one behind the other
  std::int64_t buffer_bytes = 0;
};

/// Every tree takes the same bandwidth; links that are left over are not used. `bound` is the exact optimum of the
/// bandwidth. Throws ArgumentError for other collectives, options out of range, more than 256 ranks and switches, or a
/// network on which some rank cannot reach another.
Synthesis synthesize_forest(const Topology& topology, const ForestOptions& options);

}  // namespace hemiola::synthesis
