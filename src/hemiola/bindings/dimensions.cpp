#include "hemiola/bindings/dimensions.hpp"

#include "hemiola/base/error.hpp"

namespace hemiola::bindings {
namespace {

double value_at(const PerDimension& values, std::size_t dimension, std::size_t count, const char* what) {
  if (const auto* same = std::get_if<double>(&values)) return *same;
  const auto& list = std::get<std::vector<double>>(values);
  if (list.size() != count)
    throw ArgumentError(std::string("expected one ") + what + ", or one for each of the " +
                        std::to_string(count) + " dimensions, found " + std::to_string(list.size()));
  return list[dimension];
}

}  // namespace

std::vector<topologies::Dimension> dimensions_of(topologies::Wires wires, const std::vector<int>& dims,
                                                 const PerDimension& latency_s,
                                                 const PerDimension& bandwidth) {
  std::vector<topologies::Dimension> dimensions;
  for (std::size_t d = 0; d < dims.size(); ++d)
    dimensions.push_back({wires,
                          dims[d],
                          {from_seconds(value_at(latency_s, d, dims.size(), "latency")),
                           value_at(bandwidth, d, dims.size(), "bandwidth")}});
  return dimensions;
}

std::vector<topologies::Dimension> dimensions_of(const std::vector<std::string>& wires,
                                                 const std::vector<int>& dims, const PerDimension& latency_s,
                                                 const PerDimension& bandwidth) {
  if (wires.size() != dims.size())
    throw ArgumentError("expected one kind of wires for each of the " + std::to_string(dims.size()) +
                        " dimensions, found " + std::to_string(wires.size()));
  auto dimensions = dimensions_of(topologies::Wires::line, dims, latency_s, bandwidth);
  for (std::size_t d = 0; d < dims.size(); ++d) dimensions[d].wires = topologies::wires_of(wires[d]);
  return dimensions;
}

}  // namespace hemiola::bindings
