// How long a list of sends takes when every send starts as soon as its chunk is there and its channel is free: what the
// simulator's fifo network makes of the schedule, for one chunk size.
#pragma once

#include <vector>

#include "hemiola/base/units.hpp"
#include "hemiola/synthesis/channels.hpp"
#include "hemiola/synthesis/sends.hpp"

namespace hemiola::synthesis {

/// Cost O(sends); memory one time per rank and chunk. Chunks that no send brought are there from the beginning.
Picoseconds replay(const Channels& channels, const Sends& sends, int chunk_count);

}  // namespace hemiola::synthesis
