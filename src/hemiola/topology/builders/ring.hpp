// SPDX-License-Identifier: Apache-2.0
// Every rank has a link to the next one, and to the one before unless the ring is one-way.
#pragma once

#include "hemiola/topology/builders/wiring.hpp"

namespace hemiola::topologies {

struct RingOptions {
  bool bidirectional = true;
};

/// Two ranks have one link each way, in a one-way ring too; a single rank has none.
Topology ring(int rank_count, LinkCost cost, RingOptions options = {});

}  // namespace hemiola::topologies
