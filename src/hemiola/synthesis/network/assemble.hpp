// SPDX-License-Identifier: Apache-2.0
// From lists of sends to a Schedule: turning a list round, so that a spreading becomes a reduction [TACOS, §IV-E], and
// joining several.
#pragma once

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/synthesis/network/sends.hpp"

namespace hemiola::synthesis {

/// `sends` were made for `channels.reversed()`; the result holds for `channels`, last step first. The sends
/// that carried a chunk from its source to every rank now carry every rank's part to the source, once.
Sends turned_round(const Sends& sends, const Channels& channels);

/// One list after another.
Sends concatenated(Sends first, const Sends& second);

Schedule assemble(Collective collective, const Channels& channels, Sends sends);

}  // namespace hemiola::synthesis
