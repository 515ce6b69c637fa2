// SPDX-License-Identifier: Apache-2.0
// How far vertices are apart, counted in links.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Per vertex, the fewest links on the way there from `start`; -1 where there is none. O(vertices + links).
std::vector<std::int32_t> hops_from(const Topology& topology, Vertex start);
/// The same on the way to `end`.
std::vector<std::int32_t> hops_to(const Topology& topology, Vertex end);

}  // namespace hemiola
