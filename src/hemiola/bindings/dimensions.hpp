// The dimensions of a grid as Python states them: sizes, wires, and costs that are one number or one per dimension.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::bindings {

/// One number for all dimensions, or one per dimension.
using PerDimension = std::variant<double, std::vector<double>>;

/// Throws ArgumentError where a list has the wrong length or a number is no latency.
std::vector<topologies::Dimension> dimensions_of(topologies::Wires wires, const std::vector<int>& dims,
                                                 const PerDimension& latency_s,
                                                 const PerDimension& bandwidth);
/// The same with wires of its own for each dimension.
std::vector<topologies::Dimension> dimensions_of(const std::vector<std::string>& wires,
                                                 const std::vector<int>& dims, const PerDimension& latency_s,
                                                 const PerDimension& bandwidth);

}  // namespace hemiola::bindings
