// SPDX-License-Identifier: Apache-2.0
// A time that no schedule can beat: the links at a rank take a known time for the chunks that must cross
// them, and every chunk takes a known time for its way.
#pragma once

#include "hemiola/base/units.hpp"
#include "hemiola/synthesis/delivery/delivery.hpp"
#include "hemiola/synthesis/flood/flood.hpp"

namespace hemiola::synthesis {

/// The least time in which the links into each rank can bring the chunks that it lacks, whole chunks only; the largest
/// over all ranks.
Picoseconds port_bound(const Flood& flood);
/// The same, also for chunks that must leave a rank because no other holds them. A chunk's way counts at
/// least as one channel.
Picoseconds port_bound(const Delivery& delivery);

}  // namespace hemiola::synthesis
