#include "hemiola/synthesis/relays.hpp"

#include <algorithm>

#include "hemiola/synthesis/places.hpp"

namespace hemiola::synthesis {

void copy_into_relays(const Channels& channels, const Collective& collective, Sends* sends) {
  const int ranks = channels.rank_count(), chunks = collective.chunk_count();
  Places<std::uint8_t> defined(ranks, chunks);
  for (const auto& [rank, chunk] : collective.before())
    defined.at(rank, static_cast<std::uint32_t>(chunk)) = 1;
  Places<std::int32_t> all_arrived(ranks, chunks), copied(ranks, chunks);
  std::vector<std::int32_t> next(channels.link_count(), 0);
  for (std::size_t i = 0; i < sends->size(); ++i) {
    const Channel& ends = channels[sends->channel[i]];
    const std::uint32_t chunk = sends->chunk[i];
    std::int32_t step = std::max(all_arrived.at(ends.src, chunk), copied.at(ends.dst, chunk));
    for (const Hop& hop : channels.hops(sends->channel[i])) step = std::max(step, next[hop.link]);
    for (const Hop& hop : channels.hops(sends->channel[i])) next[hop.link] = step + 1;
    std::uint8_t& is_defined = defined.at(ends.dst, chunk);
    if (!is_defined) {
      sends->reduce[i] = false;
      is_defined = 1;
      copied.at(ends.dst, chunk) = step + 1;
    }
    std::int32_t& arrived = all_arrived.at(ends.dst, chunk);
    arrived = std::max(arrived, step + 1);
    sends->step[i] = step;
  }
}

}  // namespace hemiola::synthesis
