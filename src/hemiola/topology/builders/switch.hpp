// SPDX-License-Identifier: Apache-2.0
// Every rank has one port on one switch: that port limits its sends to all others together.
#pragma once

#include "hemiola/topology/builders/wiring.hpp"

namespace hemiola::topologies {

/// `cost` is that of the path from rank to rank: each of its two hops has half the latency and the full
/// bandwidth. `ability` : of the switch.
Topology switch_(int rank_count, LinkCost cost, SwitchAbility ability = {});

}  // namespace hemiola::topologies
