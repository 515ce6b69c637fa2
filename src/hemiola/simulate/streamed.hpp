// SPDX-License-Identifier: Apache-2.0
// Simulates schedules that do not fit in memory, block by block as they come from a file. It keeps the time
// when each rank gets each chunk: eight bytes per slot, where `simulate` needs some sixty per transfer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "hemiola/schedule/transfer_source.hpp"
#include "hemiola/simulate/timeline.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// The timeline that `simulate` gives for network fifo, for schedules in which one pass in the order of the
/// steps decides everything. These are copies between ranks that share a link, no slot written twice or over
/// a value, one message per link and step. `chunk_weights` as Schedule::chunk_weights gives them. Throws
/// ArgumentError for any other schedule, as `simulate` does. `progress` as in SimulateOptions. Cost: O(1) per
/// transfer, two accesses to memory.
Timeline simulate_streamed(const TransferSource& source, std::span<const std::int64_t> chunk_weights,
                           const Topology& topology, std::int64_t bytes, const Conditions& conditions,
                           const std::function<void(std::int64_t done, std::int64_t total)>& progress);

}  // namespace hemiola
