// SPDX-License-Identifier: Apache-2.0
// Trees of chunks as lists of sends, timed as the simulator's fifo network times them.
#pragma once

#include <span>

#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/trees/turns.hpp"

namespace hemiola::synthesis {

/// `end` is the time in fifo. Cost: that of take_turns, and behind switches of replay.
trees::Turned listed(const Channels& channels, const trees::Trees& trees, const trees::TurnOptions& options);

/// By the rule that takes least time; of equals the first.
trees::Turned best_listed(const Channels& channels, const trees::Trees& trees,
                          std::span<const trees::TurnRule> rules);

}  // namespace hemiola::synthesis
