#include "hemiola/base/units.hpp"
#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {

Bound arrival_bound(const Problem& problem) {
  Bound best{"arrival", 0, "no rank is late"};
  for (const auto& [rank, delay] : problem.conditions.late)
    if (delay > best.time)
      best = {"arrival", delay,
              "rank " + std::to_string(rank) + " arrives at " + format_seconds(to_seconds(delay))};
  return best;
}

}  // namespace hemiola::bounds
