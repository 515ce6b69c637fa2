// SPDX-License-Identifier: Apache-2.0
// A schedule for any topology: the entry to this folder. How it works is in docs/decisions/0005-synthesis.md.
#pragma once

#include "hemiola/base/units.hpp"
#include "hemiola/schedule/schedule.hpp"
#include "hemiola/synthesis/options.hpp"

namespace hemiola::synthesis {

struct Synthesis {
  Schedule schedule;
  /// As this search sees it: channels of the stated latency model, chunks of equal size. 0 where it was not `timed`.
  Picoseconds duration = 0;
  /// A time that no schedule with these chunks can beat: of the ports of the slowest rank
  Picoseconds bound = 0;
  int trials = 0;        ///< how many searches were complete
  bool stopped = false;  ///< `report` ended the search
};

/// Throws ArgumentError for fewer than two ranks, a collective of another rank count, options out of range,
/// or a search that was stopped before it had found anything. Also for a network on which some rank cannot
/// get its chunks (naming both sides).
Synthesis synthesize(const Topology& topology, const Collective& collective, const Options& options);

}  // namespace hemiola::synthesis
