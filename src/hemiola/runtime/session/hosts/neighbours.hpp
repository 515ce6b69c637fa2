// Which ranks watch each other: those 1, 2, 4, … apart in a circle. Everybody hears of something in at most log2 n steps, and
// the graph stays in one piece when any fewer ranks than one has neighbours die at once.
#pragma once

#include <algorithm>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// Sorted, without `rank` itself.
inline std::vector<Rank> neighbours_of(Rank rank, int rank_count) {
  std::vector<Rank> found;
  for (int jump = 1; jump < rank_count; jump *= 2) {
    found.push_back(Rank{(rank + jump) % rank_count});
    found.push_back(Rank{(rank + rank_count - jump) % rank_count});
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  std::erase(found, rank);
  return found;
}

}  // namespace hemiola
