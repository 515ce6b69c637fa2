// SPDX-License-Identifier: Apache-2.0
// Whether every chunk can get where it is wanted, and if not, between which ranks a link is missing.
#pragma once

#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/synthesis/network/phases.hpp"

namespace hemiola::synthesis {

/// Throws ArgumentError that names a rank that holds a chunk, a rank that wants it and cannot get it, and the two
/// sides.
void check_reachable(const Channels& channels, const Phase& phase);

}  // namespace hemiola::synthesis
