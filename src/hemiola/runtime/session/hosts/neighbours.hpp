// SPDX-License-Identifier: Apache-2.0
// Which ranks watch each other: those 1, 2, 4, … places apart in a circle of all that live. Everybody hears of something in at
// most log2 n steps, and the graph stays in one piece when any fewer ranks than one has neighbours die at once.
#pragma once

#include <algorithm>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// `living` is sorted, `rank` among it. The neighbours are sorted, without `rank` itself; it is a neighbour of each of them.
inline std::vector<Rank> neighbours_of(Rank rank, const std::vector<Rank>& living) {
  const auto count = static_cast<std::ptrdiff_t>(living.size());
  const auto place = std::ranges::lower_bound(living, rank) - living.begin();
  const auto at = [&](std::ptrdiff_t index) { return living[static_cast<std::size_t>(index % count)]; };
  std::vector<Rank> found;
  for (std::ptrdiff_t jump = 1; jump < count; jump *= 2) {
    found.push_back(at(place + jump));
    found.push_back(at(place + count - jump));
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  std::erase(found, rank);
  return found;
}

}  // namespace hemiola
