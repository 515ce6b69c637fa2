// SPDX-License-Identifier: Apache-2.0
// The dimensions of a grid as people state them: sizes, wires, and costs that are one number or one per dimension.
#pragma once

#include <string>
#include <vector>

#include "hemiola/base/per_item.hpp"
#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::topologies {

/// Throws ArgumentError where a list has not one entry per dimension or a number is no latency.
std::vector<Dimension> dimensions_of(const std::vector<Wires>& wires, const std::vector<int>& dims,
                                     const PerItem& latency_s, const PerItem& bandwidth,
                                     const PerItem& message_s = 0.0);
/// The same with wires by their names.
std::vector<Dimension> dimensions_of(const std::vector<std::string>& wires, const std::vector<int>& dims,
                                     const PerItem& latency_s, const PerItem& bandwidth,
                                     const PerItem& message_s = 0.0);

}  // namespace hemiola::topologies
