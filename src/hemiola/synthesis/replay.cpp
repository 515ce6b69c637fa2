#include "hemiola/synthesis/replay.hpp"

#include <algorithm>

namespace hemiola::synthesis {

Picoseconds replay(const Channels& channels, const Sends& sends, int chunk_count) {
  const auto place = [&](Rank rank, std::uint32_t chunk) {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(chunk_count) + chunk;
  };
  std::vector<Picoseconds> there(
      static_cast<std::size_t>(channels.rank_count()) * static_cast<std::size_t>(chunk_count), 0);
  std::vector<Picoseconds> free(channels.count(), 0);
  Picoseconds last = 0;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const Channel& channel = channels[sends.channel[i]];
    const Picoseconds start = std::max(free[sends.channel[i]], there[place(channel.src, sends.chunk[i])]);
    free[sends.channel[i]] = start + channel.busy;
    last = std::max(last, there[place(channel.dst, sends.chunk[i])] = start + channel.delay);
  }
  return last;
}

}  // namespace hemiola::synthesis
