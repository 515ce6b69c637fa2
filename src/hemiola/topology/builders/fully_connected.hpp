// SPDX-License-Identifier: Apache-2.0
// Every rank has a link of its own to every other rank.
#pragma once

#include "hemiola/topology/builders/wiring.hpp"

namespace hemiola::topologies {

Topology fully_connected(int rank_count, LinkCost cost);

}  // namespace hemiola::topologies
