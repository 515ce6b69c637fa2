// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/network/relays.hpp"

#include <algorithm>

#include "hemiola/synthesis/network/rank_chunk_table.hpp"

namespace hemiola::synthesis {

void copy_into_relays(const Channels& channels, const Collective& collective, Sends* sends) {
  const int ranks = channels.rank_count(), chunks = collective.chunk_count();
  RankChunkTable<std::uint8_t> defined(ranks, chunks);
  for (const auto& [rank, chunk] : collective.before())
    defined.at(rank, static_cast<std::uint32_t>(chunk)) = 1;
  RankChunkTable<std::int32_t> all_arrived(ranks, chunks), copied(ranks, chunks);
  std::vector<std::int32_t> next(channels.link_count(), 0);
  for (Send& send : *sends) {
    const Channel& ends = channels[send.channel];
    const std::uint32_t chunk = send.chunk;
    std::int32_t step = std::max(all_arrived.at(ends.src, chunk), copied.at(ends.dst, chunk));
    for (const Hop& hop : channels.hops(send.channel)) step = std::max(step, next[hop.link]);
    for (const Hop& hop : channels.hops(send.channel)) next[hop.link] = step + 1;
    std::uint8_t& is_defined = defined.at(ends.dst, chunk);
    if (!is_defined) {
      send.reduce = false;
      is_defined = 1;
      copied.at(ends.dst, chunk) = step + 1;
    }
    std::int32_t& arrived = all_arrived.at(ends.dst, chunk);
    arrived = std::max(arrived, step + 1);
    send.step = step;
  }
}

}  // namespace hemiola::synthesis
