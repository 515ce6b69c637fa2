// SPDX-License-Identifier: Apache-2.0
// How long a schedule with levels takes, found from one rank's work. On nodes that are all alike every rank
// does the same at the same time, so that its own NIC and its own port inside the node say when everything is
// in its place. No transfer is made. Cost: O(nodes · slices · log(nodes · slices)).
#pragma once

#include <cstdint>

#include "hemiola/algorithms/node_network.hpp"
#include "hemiola/schedule/collective.hpp"

namespace hemiola::algorithms {

/// Seconds of hierarchical(kind, …, slices) for a buffer of so many bytes, as the simulator has them on a network of fluids.
double one_rank_seconds(CollectiveKind kind, const NodeNetwork& network, std::int64_t nbytes, int slices);

}  // namespace hemiola::algorithms
