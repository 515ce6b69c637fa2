// SPDX-License-Identifier: Apache-2.0
// How soon bytes of one rank can have reached another by all ways together, each as long as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/bounds/ports.hpp"

namespace hemiola::bounds {

/// Ways from one rank to another that together deliver as much by any time as all links can [ford1958]: shortest ones
/// first, each with what the earlier ones leave of its links, or take back from them. By a time T they deliver
/// sum(bandwidth * (T - from - delay)) of those that are open then, and no schedule more.
///
/// Ends with the way that opens after `bytes` have been delivered. Each search costs O(vertices * links) at worst, and
/// is subtracted from `searches`; none is begun where none is left, and the result is empty then. Bandwidths are rounded
/// up to whole bytes a second.
std::vector<Window> quickest_ways(const Problem& problem, Rank src, Rank dst, std::int64_t bytes,
                                  std::int64_t* searches);

}  // namespace hemiola::bounds
