// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/dimensions.hpp"

#include "hemiola/base/error.hpp"

namespace hemiola::topologies {

std::vector<Dimension> dimensions_of(const std::vector<Wires>& wires, const std::vector<int>& dims,
                                     const PerItem& latency_s, const PerItem& bandwidth,
                                     const PerItem& message_s) {
  if (wires.size() != dims.size())
    throw ArgumentError("expected one kind of wires for each of the " + std::to_string(dims.size()) +
                        " dimensions, found " + std::to_string(wires.size()));
  const std::vector<double> latencies = values_of(latency_s, dims.size(), "latency");
  const std::vector<double> bandwidths = values_of(bandwidth, dims.size(), "bandwidth");
  const std::vector<double> messages = values_of(message_s, dims.size(), "cost of a message");
  std::vector<Dimension> dimensions;
  for (std::size_t d = 0; d < dims.size(); ++d)
    dimensions.push_back({wires[d], dims[d], link_cost(latencies[d], bandwidths[d], messages[d])});
  return dimensions;
}

std::vector<Dimension> dimensions_of(const std::vector<std::string>& wires, const std::vector<int>& dims,
                                     const PerItem& latency_s, const PerItem& bandwidth,
                                     const PerItem& message_s) {
  std::vector<Wires> kinds;
  for (const std::string& kind : wires) kinds.push_back(wires_of(kind));
  return dimensions_of(kinds, dims, latency_s, bandwidth, message_s);
}

}  // namespace hemiola::topologies
