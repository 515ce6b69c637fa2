// Searches for one flood: in slots where all channels cost the same, event by event where they do not.
#pragma once

#include <cstdint>
#include <optional>

#include "hemiola/synthesis/flood.hpp"
#include "hemiola/synthesis/speed_classes.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

/// How many slots after its arrival's next one a chunk may leave, where time is a number of slots; nothing where it
/// is not.
std::optional<int> slot_lag(const Flood& flood);

class FloodSearch {
 public:
  /// The flood must be reachable, and must outlive the search.
  explicit FloodSearch(const Flood& flood);

  /// Deterministic for a seed and a trial's number, which chooses among strategies. Incomplete when `state` says stop.
  /// May run on several threads at once.
  Candidate operator()(std::uint64_t seed, int trial, SearchState* state) const;

 private:
  bool match_in_slots(std::uint64_t seed, SearchState* state, Sends* sends) const;
  bool match_event_by_event(std::uint64_t seed, int trial, SearchState* state, Sends* sends) const;

  const Flood& flood_;
  int lag_ = 0;                          ///< of slots
  std::optional<SpeedClasses> classes_;  ///< where slots do not fit
};

}  // namespace hemiola::synthesis
