// SPDX-License-Identifier: Apache-2.0
// How messages name the two sides of a topology that does not hang together.
#pragma once

#include <string>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// "ranks 0, 1, 2, … (40 of them)": the ranks whose entry is `value`.
std::string list_ranks(const std::vector<bool>& member, bool value);

/// "no link leads from ranks 0, 1 to ranks 2, 3. Add a link, or leave one side out.": `reached` marks the ranks of one
/// side; links lead from it, or with `towards` to it.
std::string missing_link(const std::vector<bool>& reached, bool towards = false);

/// "topology 'rack'", or "the topology" where it has no name.
std::string described(const Topology& topology);

}  // namespace hemiola
