// SPDX-License-Identifier: Apache-2.0
// Asymmetric conditions: late ranks, slow ranks, sparse data.
#pragma once

#include <map>

#include "hemiola/base/index.hpp"
#include "hemiola/base/units.hpp"

namespace hemiola {

struct Conditions {
  std::map<Rank, Picoseconds> late;  ///< rank → how long after the others it arrives
  std::map<Rank, double> slow;       ///< rank → factor ≥ 1 by which its ports are slower
  double density = 1.0;              ///< share of elements that are not zero, in (0, 1]

  /// Throws ArgumentError, naming the entry, for ranks that do not exist, times that are negative, factors below 1
  /// or not finite, a density outside (0, 1].
  void check(int rank_count) const;

  Picoseconds delay_of(Rank rank) const {
    const auto it = late.find(rank);
    return it == late.end() ? 0 : it->second;
  }
  double slowdown_of(Rank rank) const {
    const auto it = slow.find(rank);
    return it == slow.end() ? 1.0 : it->second;
  }
};

}  // namespace hemiola
