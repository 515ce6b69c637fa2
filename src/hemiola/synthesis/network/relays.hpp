// SPDX-License-Identifier: Apache-2.0
// Ranks that pass parts of a sum on without having one of their own.
#pragma once

#include "hemiola/schedule/collective.hpp"
#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/synthesis/network/sends.hpp"

namespace hemiola::synthesis {

/// `sends` reduce, in the order of their steps; `collective` is custom. Where a rank has no part of a chunk, the
/// first to arrive is copied, in a step before the others: all steps are numbered again.
void copy_into_relays(const Channels& channels, const Collective& collective, Sends* sends);

}  // namespace hemiola::synthesis
