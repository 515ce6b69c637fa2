// SPDX-License-Identifier: Apache-2.0
// From a list of sends in the order of their starts to the two things a schedule needs. They are its duration
// when every send starts as soon as its chunk is there and its links are free, and steps of exactly that
// order.
#pragma once

#include "hemiola/base/units.hpp"
#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/synthesis/network/sends.hpp"

namespace hemiola::synthesis {

/// The times of the sends on the simulator's fifo network. Cost O(sends), times a logarithm behind switches;
/// memory O(sends). Chunks that no send brought are there from the beginning; where several sends bring a
/// chunk to one rank, it passes it on when those before have come.
Picoseconds replay(const Channels& channels, const Sends& sends, int chunk_count);

/// Sets the least steps such that a chunk leaves after the step in which it came and that a link's steps ascend.
void number_steps(const Channels& channels, int chunk_count, Sends* sends);

}  // namespace hemiola::synthesis
