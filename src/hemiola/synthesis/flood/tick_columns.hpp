// SPDX-License-Identifier: Apache-2.0
// One search tick by tick, straight into a schedule's columns: a list of sends in between would cost a third as much as
// the search.
#pragma once

#include <cstdint>

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/synthesis/flood/flood.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

/// The flood must be reachable, with a tick_lag() of 0. False where `state` says stop; the columns are then of no use.
bool match_into_columns(const Flood& flood, std::uint64_t seed, SearchState* state,
                        Schedule::Columns* columns);

}  // namespace hemiola::synthesis
