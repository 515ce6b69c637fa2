// SPDX-License-Identifier: Apache-2.0
// A timeline as a Chrome trace, which ui.perfetto.dev and chrome://tracing show.
#pragma once

#include <cstdint>

#include "hemiola/schedule/file/bytes.hpp"
#include "hemiola/schedule/schedule.hpp"
#include "hemiola/simulate/timeline.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Writes JSON, some 500 bytes per transfer. Every rank and switch is a process; every link that leaves it is a thread
/// (several, where flows share the link) on which each message is a slice. A landing is a slice without
/// length on the receiver's thread "received", and an arrow leads there from the sender's slice. `bytes` is
/// the simulated size. Throws ArgumentError unless the timeline kept its spans, std::system_error when the
/// sink fails.
void write_trace(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                 const Timeline& timeline, ByteSink* sink);

}  // namespace hemiola
