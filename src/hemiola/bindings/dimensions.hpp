// The dimensions of a grid as Python states them: sizes, wires, and costs that are one number or one per dimension.
#pragma once

#include <string>
#include <vector>

#include "hemiola/bindings/per_item.hpp"
#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::bindings {

/// Throws ArgumentError where a list has not one entry per dimension or a number is no latency.
std::vector<topologies::Dimension> dimensions_of(const std::vector<topologies::Wires>& wires,
                                                 const std::vector<int>& dims, const PerItem& latency_s,
                                                 const PerItem& bandwidth);
/// The same with wires by their names.
std::vector<topologies::Dimension> dimensions_of(const std::vector<std::string>& wires,
                                                 const std::vector<int>& dims, const PerItem& latency_s,
                                                 const PerItem& bandwidth);

}  // namespace hemiola::bindings
