// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/flood.hpp"

namespace hemiola::synthesis {

Flood::Flood(const Channels& network, const std::vector<std::vector<Rank>>& holders)
    : channels(network),
      chunk_count(static_cast<int>(holders.size())),
      start(static_cast<std::size_t>(network.rank_count())) {
  for (std::size_t chunk = 0; chunk < holders.size(); ++chunk)
    for (const Rank rank : holders[chunk]) start[static_cast<std::size_t>(rank)].push_back(Chunk{chunk});
}

std::int64_t Flood::sends_needed() const {
  std::int64_t sends = static_cast<std::int64_t>(chunk_count) * channels.rank_count();
  for (const auto& chunks : start) sends -= static_cast<std::int64_t>(chunks.size());
  return sends;
}

}  // namespace hemiola::synthesis
