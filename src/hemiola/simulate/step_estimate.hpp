// SPDX-License-Identifier: Apache-2.0
// About the time of a schedule, and the cost of simulating it: known without a simulation.
#pragma once

#include <cstdint>

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Work of one flow among those it shares a link with, over one that has it for itself; measured on tori of 144 and 289
/// ranks.
inline constexpr double kShareOfWork = 1.0 / 6;

struct StepEstimate {
  /// The smallest of these: if every step waited for the one before, for its busiest link and its longest
  /// latency; if transfers took their turns in the schedule's order, each with its whole path for itself.
  /// And, where no rank is late and no transfer reads another one's content, if links served one step after
  /// the other (`LinkTurns`). The first is right where many share links in few steps, the second where each
  /// has links for itself and steps overlap.
  Picoseconds duration = 0;
  /// The cost of a fluid simulation, in transfers that have links for themselves: a flow that begins or ends
  /// changes those it shares links with.
  double work = 0;
};

/// Throws ArgumentError as `simulate` does. Cost: O(links on its way) per transfer, and the slots it touches.
StepEstimate estimate_by_steps(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                               const Conditions& conditions);

}  // namespace hemiola
