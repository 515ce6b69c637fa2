// SPDX-License-Identifier: Apache-2.0
// One rank's own transfers of a schedule: all that its program is compiled from. A generator that knows a rank's
// part by itself can fill one without building the whole schedule.
#pragma once

#include <vector>

#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

struct RankPart {
  Rank rank;
  /// Those that leave or reach the rank, or move within it, in the schedule's order: by (step, src, dst, slots, chunk,
  /// reduce).
  std::vector<Transfer> transfers;
};

/// Takes one pass over the schedule, or, where that is cheaper, a binary search per step for each pair the rank is in.
RankPart part_of(const Schedule& schedule, Rank rank);

}  // namespace hemiola
