// SPDX-License-Identifier: Apache-2.0
// A schedule that is known rank by rank: its promise, and a generator of each rank's transfers. For clusters
// so large that no rank should hold the transfers of all others.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hemiola/base/hash.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

struct ScheduleParts {
  Collective collective;
  std::vector<std::int64_t> chunk_weights;  ///< empty: all equal
  /// Those that leave or reach a rank, in the schedule's order: by (step, src, dst, chunk, reduce).
  std::function<std::vector<Transfer>(Rank)> part;
  /// Of the generator and its arguments, so that ranks can tell whether they run the same one. A schedule of the same
  /// transfers has another: all ranks take the one or the other.
  Hash128 digest;
};

}  // namespace hemiola
