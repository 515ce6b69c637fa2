// SPDX-License-Identifier: Apache-2.0
// Switches replaced by fixed point-to-point links between ranks, for algorithms that know only such links [TACOS,
// §IV-G].
#pragma once

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// A copy without switches. The ranks around one switch (or around switches that are linked to each other), N of them,
/// are put in a circle, and each gets links to the next `degree` ranks (at most N-1). A link's latency is
/// that of the path through the switches. Its bandwidth is the smallest share along that path, each hop being
/// shared equally by the new links that cross it: on a plain switch 1/degree of a port, as in the paper. A
/// message costs as much as one on each of them does. Links between ranks stay.
///
/// The circle goes by rank number. Where a host has several ranks it visits the first rank of each host, then
/// the second of each, …, so that neighbours are on different hosts and links do not loop through their own
/// host's card. Paths have the fewest hops, then the least latency; equal ones take turns. Parallel links
/// count as one.
///
/// A card keeps its name: it carries the links whose paths cross it.
///
/// Throws ArgumentError for a degree below 1, and where a rank can send into switches but reaches no successor.
Topology unwound(const Topology& topology, int degree);

}  // namespace hemiola
