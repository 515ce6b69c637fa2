// What no schedule can beat: a rank's incoming channels take a known time for the chunks it lacks.
#pragma once

#include "hemiola/base/units.hpp"
#include "hemiola/synthesis/flood.hpp"

namespace hemiola::synthesis {

/// The least time in which the channels into each rank can bring the chunks that it lacks, whole chunks only; the
/// largest over all ranks.
Picoseconds in_rate_bound(const Flood& flood);

}  // namespace hemiola::synthesis
