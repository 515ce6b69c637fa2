// SPDX-License-Identifier: Apache-2.0
// Replaces the switches of a graph by links between ranks, without losing any tree [ForestColl, §5.2].
#pragma once

#include "hemiola/synthesis/forest/capacity_graph.hpp"

namespace hemiola::synthesis {

/// `trees` spanning out-trees must fit, and as much must be able to leave each switch as to enter it.
/// Joins the links into a switch to those out of it, as much of each pair as leaves room for the trees, until
/// no switch is used. Throws ArgumentError where a switch is left over.
CapacityGraph without_switches(CapacityGraph graph, const TreesFrom& trees);

}  // namespace hemiola::synthesis
