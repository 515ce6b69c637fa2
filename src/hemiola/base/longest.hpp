// SPDX-License-Identifier: Apache-2.0
// The longest time that a search reckons with, so that sums of two such times and of a chunk's way still fit into 64 bits.
#pragma once

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"

namespace hemiola {

inline constexpr Picoseconds kLongest = Picoseconds{1} << 60;

/// Throws ArgumentError where the schedule would take longer.
inline Picoseconds within_longest(Picoseconds time) {
  if (time > kLongest) [[unlikely]]
    throw ArgumentError(
        "synthesize: the schedule would take more than 13 days; check the units of size, latencies and "
        "bandwidths");
  return time;
}

/// For bounds, which stay bounds where they are cut off.
inline Picoseconds at_most_longest(double picoseconds) {
  return static_cast<Picoseconds>(std::min(picoseconds, static_cast<double>(kLongest)));
}

}  // namespace hemiola
