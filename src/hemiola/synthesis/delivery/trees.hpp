// For each chunk, the channels that it takes: a tree from each rank that holds it, leading to every rank that wants it,
// or up a tree, where parts are added up, and down again.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/synthesis/delivery/delivery.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

/// Per chunk, channels in an order in which each follows all that bring its source what it passes on.
using Trees = std::vector<std::vector<std::uint32_t>>;

}  // namespace hemiola::synthesis
