// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/wiring.hpp"

#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::topologies {

LinkCost link_cost(double latency_s, double bandwidth_Bps, double message_s) {
  if (const std::string fault = bandwidth_fault(bandwidth_Bps); !fault.empty()) throw ArgumentError(fault);
  return {from_seconds(latency_s), bandwidth_Bps, from_seconds(message_s)};
}

void check_range(const char* builder, const char* what, std::int64_t value, std::int64_t low,
                 std::int64_t high) {
  if (value < low || value > high)
    throw ArgumentError(std::string(builder) + ": expected " + what + " between " + std::to_string(low) +
                        " and " + std::to_string(high) + ", found " + std::to_string(value));
}

void check_size(const char* builder, std::int64_t vertex_count, std::int64_t link_count) {
  check_range(builder, "a number of ranks and switches", vertex_count, 1, Topology::kMaxVertices);
  check_range(builder, "a number of links", link_count, 0, Topology::kMaxLinks);
}

}  // namespace hemiola::topologies
