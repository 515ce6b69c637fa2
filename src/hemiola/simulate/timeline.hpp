// What a simulation returns.
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
  Picoseconds arrival;    ///< the last byte is at the link's far end (fluid: the path's)
};

struct Timeline {
  Picoseconds duration = 0;  ///< when the last rank is done
  std::vector<Picoseconds>
      finish;  ///< per rank: arrived, everything sent has left, everything received has landed
  std::vector<Picoseconds> link_busy;  ///< per link: time its full bandwidth would need for what it carried
  std::vector<Span> spans;             ///< by start time within a link; empty unless asked for
};

}  // namespace hemiola
