// SPDX-License-Identifier: Apache-2.0
// The task behind collectives in which not every rank wants every chunk: each chunk has ranks that hold it and
// ranks that want it, and may pass others on its way.
#pragma once

#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/synthesis/network/channels.hpp"

namespace hemiola::synthesis {

struct Delivery {
  const Channels& channels;
  const std::vector<std::vector<Rank>>& holders;  ///< per chunk
  const std::vector<std::vector<Rank>>& wanted;   ///< per chunk, ranks other than its holders

  int chunk_count() const { return static_cast<int>(holders.size()); }
};

}  // namespace hemiola::synthesis
