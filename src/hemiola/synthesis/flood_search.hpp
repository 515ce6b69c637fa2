// One search for a flood: in slots where all channels cost the same, event by event where they do not.
#pragma once

#include <cstdint>

#include "hemiola/synthesis/flood.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

/// Deterministic for a seed. Incomplete when `state` says stop.
Candidate search_flood(const Flood& flood, std::uint64_t seed, SearchState* state);

}  // namespace hemiola::synthesis
