// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/problem.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola::bounds {

Bound arrival_bound(const Problem& problem) {
  Bound best{"arrival", 0, "no rank is late"};
  for (const auto& [rank, delay] : problem.conditions.late)
    if (delay > best.time)
      best = {"arrival", delay,
              called(problem.topology, Vertex{rank}) + " arrives at " + format_seconds(to_seconds(delay))};
  return best;
}

}  // namespace hemiola::bounds
