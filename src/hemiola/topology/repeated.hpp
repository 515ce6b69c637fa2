// SPDX-License-Identifier: Apache-2.0
// Several copies of one box side by side, joined at the switches they share: racks out of a box.
#pragma once

#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Copies one after another: ranks of copy 0, of copy 1, …; then each copy's own switches; then the shared ones, once.
/// Cards keep their names, each on its copy's host. Throws ArgumentError for fewer than one copy, a shared vertex that is no switch, or a result that is too large.
Topology repeated(const Topology& box, int copy_count, const std::vector<Vertex>& shared_switches);

}  // namespace hemiola
