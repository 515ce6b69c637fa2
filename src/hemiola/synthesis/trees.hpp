// For each chunk, the channels that it takes: a tree from each rank that holds it, leading to every rank that wants it.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/synthesis/delivery.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

/// Per chunk, channels in an order in which the source of each has the chunk.
using Trees = std::vector<std::vector<std::uint32_t>>;

}  // namespace hemiola::synthesis
