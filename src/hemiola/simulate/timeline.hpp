// SPDX-License-Identifier: Apache-2.0
// The result of a simulation.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/base/units.hpp"

namespace hemiola {

/// One message on one link (fifo), or one flow along its path, filed under the path's first link (fluid).
struct Span {
  std::int64_t transfer;  ///< index into the schedule's columns
  int link;               ///< index into the topology's links
  Picoseconds start;      ///< the first byte leaves
  Picoseconds end;        ///< the last byte has left
  Picoseconds arrival;    ///< the last byte is at the far end of the link (fluid: of the path)
};

struct Timeline {
  static constexpr Picoseconds kNever = -1;

  Picoseconds duration = 0;         ///< when the last rank is done
  std::vector<Picoseconds> finish;  ///< per rank: arrived, all it sends has left, all it receives has landed
  std::vector<Picoseconds> link_busy;  ///< per link: time its full bandwidth would need for its bytes

  /// Only if asked for: by transfer, and along its path; and when each transfer landed, kNever if it was left out.
  std::vector<Span> spans;
  std::vector<Picoseconds> landed;
};

}  // namespace hemiola
