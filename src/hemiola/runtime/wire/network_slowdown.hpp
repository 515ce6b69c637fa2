// SPDX-License-Identifier: Apache-2.0
// By how much a network that is a model is to be slower than it says of itself.
#pragma once

#include <map>
#include <utility>
#include <vector>

namespace hemiola {

/// (src, dst) -> factor; ranks by their number in the communicator, switches by the topology's.
using SlowLinks = std::map<std::pair<int, int>, double>;

struct NetworkSlowdown {
  std::vector<double> ports;  ///< by rank: the factor of all links at it; between two, the larger one counts
  SlowLinks links;            ///< on top of that; the others run at 1
};

}  // namespace hemiola
