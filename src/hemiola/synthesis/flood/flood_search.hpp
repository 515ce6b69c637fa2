// SPDX-License-Identifier: Apache-2.0
// Searches for one flood: in ticks where all channels cost the same, event by event where they do not.
#pragma once

#include <cstdint>
#include <optional>

#include "hemiola/synthesis/flood/flood.hpp"
#include "hemiola/synthesis/flood/speed_classes.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

/// How many ticks after its arrival's next one a chunk may leave, where time is a number of ticks; nothing where it
/// is not.
std::optional<int> tick_lag(const Flood& flood);

class FloodSearch {
 public:
  /// The flood must be reachable, and must outlive the search.
  explicit FloodSearch(const Flood& flood);

  /// Deterministic for a seed and a trial's number, which chooses among strategies. Incomplete when `state` says stop.
  /// May run on several threads at once.
  Candidate operator()(std::uint64_t seed, int trial, SearchState* state) const;

 private:
  bool match_in_ticks(std::uint64_t seed, SearchState* state, Sends* sends) const;
  bool match_event_by_event(std::uint64_t seed, int trial, SearchState* state, Sends* sends) const;

  const Flood& flood_;
  int lag_ = 0;                          ///< of ticks
  std::optional<SpeedClasses> classes_;  ///< where ticks do not fit
  std::optional<Sends> translates_;      ///< the first trial's, where ranks look alike
};

}  // namespace hemiola::synthesis
