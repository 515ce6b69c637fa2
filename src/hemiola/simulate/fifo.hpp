// SPDX-License-Identifier: Apache-2.0
// A network of queues: a link carries one message at a time, first come first served; it is free again when
// the last byte has left, and the message is at the far end a latency later. Over several links a message is
// stored and forwarded. This is how the congestion-aware analytical backend of ASTRA-sim sees a network.
#pragma once

#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

/// Cost: O(1) amortized per message and link. Deterministic: messages that join queues at the same instant do so in the
/// order of the schedule.
Timeline simulate_fifo(const Scenario& scenario, const SimulateOptions& options);

}  // namespace hemiola::simulation
