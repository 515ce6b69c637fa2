// SPDX-License-Identifier: Apache-2.0
// What makes rates max-min fair, judged from first principles.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace hemiola {

/// No link is over its capacity, and every flow has a full link on which nobody has more.
inline void expect_max_min_fair(const std::vector<double>& capacity,
                                std::span<const std::span<const int>> paths, std::span<const double> rates) {
  const auto at = [](int l) { return static_cast<std::size_t>(l); };
  std::vector<double> load(capacity.size()), most(capacity.size());
  ASSERT_EQ(paths.size(), rates.size());
  for (std::size_t f = 0; f < paths.size(); ++f)
    for (int l : paths[f]) {
      load[at(l)] += rates[f];
      most[at(l)] = std::max(most[at(l)], rates[f]);
    }
  for (std::size_t l = 0; l < load.size(); ++l) EXPECT_LE(load[l], capacity[l] * (1 + 1e-9));
  for (std::size_t f = 0; f < paths.size(); ++f)
    EXPECT_TRUE(std::any_of(paths[f].begin(), paths[f].end(),
                            [&](int l) {
                              return load[at(l)] >= capacity[at(l)] * (1 - 1e-9) &&
                                     rates[f] >= most[at(l)] * (1 - 1e-9);
                            }))
        << "flow " << f;
}

}  // namespace hemiola
