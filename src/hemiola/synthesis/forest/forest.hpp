// SPDX-License-Identifier: Apache-2.0
// All-gather, reduce-scatter, all-reduce, broadcast and reduce at a topology's full bandwidth: spanning trees that share
// all links without crowding any, and many small chunks down each.
#pragma once

#include "hemiola/synthesis/forest/forest_options.hpp"
#include "hemiola/synthesis/synthesize.hpp"

namespace hemiola::synthesis {

/// Every tree takes the same bandwidth; links that are left over are not used. `bound` is the exact optimum
/// of the bandwidth. Of an all-reduce through switches or over links that differ from one direction to the
/// other, it is the bound by a choice of lengths; where ranks are not joined both ways, that of its two
/// halves. Throws ArgumentError for other collectives, options out of range, more than 256 ranks and
/// switches, a network on which some rank cannot reach another, or a switch that cannot be replaced by links.
Synthesis synthesize_forest(const Topology& topology, const ForestOptions& options);

}  // namespace hemiola::synthesis
