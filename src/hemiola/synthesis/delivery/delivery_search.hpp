// SPDX-License-Identifier: Apache-2.0
// One search for a delivery: choose each chunk's way, then when it goes.
#pragma once

#include <cstdint>

#include "hemiola/synthesis/delivery/delivery.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

/// Deterministic for a seed. Incomplete when `state` says stop. The delivery must be reachable.
Candidate search_delivery(const Delivery& delivery, std::uint64_t seed, SearchState* state);

}  // namespace hemiola::synthesis
