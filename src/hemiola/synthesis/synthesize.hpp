// A schedule for any topology: the entry to this folder. How it works is in docs/design/0005-synthesis.md.
#pragma once

#include <cstdint>
#include <functional>

#include "hemiola/base/units.hpp"
#include "hemiola/schedule/schedule.hpp"
#include "hemiola/synthesis/channels.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::synthesis {

struct Progress {
  std::int64_t done = 0;   ///< sends decided, over all trials
  std::int64_t total = 0;  ///< sends to decide if every trial runs
};

struct Options {
  std::int64_t buffer_bytes =
      0;  ///< one rank's buffer, as in simulate(); with the chunk count it sets the chunk size
  LatencyModel latency = LatencyModel::pipelined;
  std::uint64_t seed = 0;
  int trials = 0;  ///< searches with different seeds, of which the best counts; 0: as many as cost little
  int threads = 1;
  /// Called about every 50 ms from the calling thread; false ends the search with the best so far.
  std::function<bool(const Progress&)> report;
};

struct Synthesis {
  Schedule schedule;
  Picoseconds duration =
      0;  ///< as this search sees it: channels of the stated latency model, chunks of equal size
  Picoseconds bound = 0;  ///< what no schedule with these chunks can beat: the ports of the slowest rank
  int trials = 0;         ///< how many searches were complete
  bool stopped = false;   ///< `report` ended the search
};

/// Throws ArgumentError for fewer than two ranks, a collective of another rank count, a network on which some rank
/// cannot get what it wants (naming both sides), options out of range, or a search that was stopped before it had found
/// anything.
Synthesis synthesize(const Topology& topology, const Collective& collective, const Options& options);

}  // namespace hemiola::synthesis
