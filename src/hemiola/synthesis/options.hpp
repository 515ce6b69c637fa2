// SPDX-License-Identifier: Apache-2.0
// What a caller may ask of a search.
#pragma once

#include <cstdint>
#include <functional>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/schedule/collective.hpp"
#include "hemiola/synthesis/network/channels.hpp"
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
  /// Trials after the first begin only while one more fits into so many operations of a phase. For one thread.
  std::int64_t operations = Budget::kUnlimited;
  /// Whether the result's duration is wanted: where one search is made, only that needs it.
  bool timed = true;
  /// Called about every 50 ms from the calling thread; false ends the search with the best so far.
  std::function<bool(const Progress&)> report;
};

/// Throws ArgumentError for fewer than two ranks, a collective of another rank count, options out of range.
void check_options(const Topology& topology, const Collective& collective, const Options& options);

/// Bytes of the largest chunk.
std::int64_t chunk_bytes(const Collective& collective, std::int64_t buffer_bytes);

}  // namespace hemiola::synthesis
