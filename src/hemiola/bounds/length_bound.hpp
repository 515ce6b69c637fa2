// SPDX-License-Identifier: Apache-2.0
// How fast an all-reduce can be at most, proved by lengths of links: every byte must travel so far, and links carry no
// more than their capacities.
#pragma once

#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola::bounds {

/// Bytes per second of one buffer. Where ranks are cut into p parts, an all-reduce sends 2 (p - 1) buffers
/// from part to part. Let the parts be those that shorter and shorter paths join. Then each byte travels
/// twice the shortest tree that joins all ranks by paths between two, and all links together carry their
/// bandwidths times their lengths. > 0; both directions between two vertices are as long as the longest link
/// there. Every rank must reach every other.
double fastest_by_lengths_Bps(const Topology& topology, std::vector<double> length);

}  // namespace hemiola::bounds
