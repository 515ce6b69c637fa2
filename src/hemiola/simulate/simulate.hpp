// SPDX-License-Identifier: Apache-2.0
// Runs a schedule's data dependencies over a topology, event by event. docs/decisions/0002-simulation.md
// lists a transfer's conditions; fluid.hpp and fifo.hpp explain how links are shared.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/simulate/codec_speeds.hpp"
#include "hemiola/simulate/timeline.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

enum class LinkSharing : std::uint8_t {
  fluid,  ///< concurrent flows share links max-min fairly; a flow holds all links of its path at once
  fifo,   ///< a link carries one message at a time, first come first served; several hops are stored and
          ///< forwarded
};

/// Throws ArgumentError that lists the known names.
LinkSharing link_sharing_from_name(std::string_view name);

struct SimulateOptions {
  LinkSharing network = LinkSharing::fluid;
  bool keep_spans = false;  ///< record when each link carried what
  /// Standard deviation, relative to it, of the time each transfer takes a link: 0 … 0.3, bell-shaped, cut off at three
  /// deviations. The same for equal seeds.
  double noise = 0;
  std::uint64_t seed = 0;
  CodecSpeeds codecs = {};  ///< where conditions have a density below 1
  /// Called every few milliseconds with how many transfers have landed, and of how many; what it throws ends
  /// the run.
  std::function<void(std::int64_t landed, std::int64_t total)> progress;
};

/// `bytes` is one rank's buffer (see chunk_begins); transfers of chunks without bytes are left out. Any schedule
/// ends, a wrong one too: whether it keeps its promise is for `verify` to say. Throws ArgumentError where rank
/// counts differ, bytes < 0, two ranks that exchange a chunk are not connected, conditions name unknown ranks,
/// noise is outside 0 … 0.3, simulated time would pass 50 days, or there are 2^31 transfers or more.
Timeline simulate(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                  const Conditions& conditions, const SimulateOptions& options);

}  // namespace hemiola
