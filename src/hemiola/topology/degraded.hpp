// SPDX-License-Identifier: Apache-2.0
// Copies of a topology with something missing or slower: dead links, lost ranks, slow ranks and links. The original
// stays as it is.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Without every link from `first` to `second` of each pair. Throws ArgumentError, naming the pair, where there is
/// none.
Topology without_links(const Topology& topology, const std::vector<VertexPair>& pairs);

/// Without the links of these network cards, each NAME or HOST/NAME. Throws ArgumentError as find_nic does.
Topology without_nics(const Topology& topology, const std::vector<std::string>& nics);

/// Without these ranks and every link that touches them. The rest is renumbered in order: ranks, switches and
/// hosts; switches stay even where nothing is connected to them any more. Throws ArgumentError for a rank
/// that does not exist or when none would be left.
Topology without_ranks(const Topology& topology, const std::vector<Rank>& ranks);

struct Slowdown {
  std::map<Rank, double> ranks;        ///< all links that leave or enter the rank
  std::map<VertexPair, double> links;  ///< all links from the first vertex to the second
  std::map<std::string, double> nics;  ///< all links of the card, by NAME or HOST/NAME
};

/// Of these ranks alone, numbered in the order given; otherwise as without_ranks of all others. Throws ArgumentError for a
/// rank that does not exist or is named twice, and for none.
Topology of_ranks(const Topology& topology, const std::vector<Rank>& ranks);

/// With bandwidths divided by these factors (>= 1, finite). Between two slow ranks the slower one counts (as
/// it does under Conditions), between two slow cards too; the factors of a card and of a link itself come on
/// top. Throws ArgumentError, naming the entry, for a bad factor, an unknown rank or card or a pair without a
/// link.
Topology degraded(const Topology& topology, const Slowdown& slowdown);

/// With the bandwidths of links between hosts divided by these factors (>= 1, finite), one per host that is named,
/// as when some of its NICs are lost; links inside stay. Between two slow hosts the slower one counts. Throws
/// ArgumentError, naming the entry, for a bad factor or an unknown host.
Topology with_slow_hosts(const Topology& topology, const std::map<int, double>& factors);

}  // namespace hemiola
