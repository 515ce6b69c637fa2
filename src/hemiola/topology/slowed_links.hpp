// SPDX-License-Identifier: Apache-2.0
// The effect of conditions on links.
#pragma once

#include <vector>

#include "hemiola/topology/conditions.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Per link, the factor by which it is slower now: that of the slower of the ranks it joins.
std::vector<double> link_slowdowns(const Topology& topology, const Conditions& conditions);

/// Per link, bytes per second under the conditions.
std::vector<double> slowed_bandwidths(const Topology& topology, const Conditions& conditions);

}  // namespace hemiola
