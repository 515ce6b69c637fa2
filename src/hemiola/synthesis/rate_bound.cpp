#include "hemiola/synthesis/rate_bound.hpp"

#include <algorithm>
#include <cstddef>

namespace hemiola::synthesis {
namespace {

/// Whether the channels into a rank can bring that many chunks by `time`.
bool can_bring(const Channels& channels, Rank rank, std::int64_t chunks, Picoseconds time) {
  for (const std::uint32_t c : channels.into(rank)) {
    const Channel& channel = channels[c];
    if (time < channel.delay) continue;
    if (channel.busy == 0) return true;
    chunks -= (time - channel.delay) / channel.busy + 1;
    if (chunks <= 0) return true;
  }
  return chunks <= 0;
}

Picoseconds least_time(const Channels& channels, Rank rank, std::int64_t chunks) {
  if (chunks == 0) return 0;
  Picoseconds enough = 0;
  for (const std::uint32_t c : channels.into(rank)) enough = std::max(enough, channels[c].delay);
  enough += chunks * enough;
  Picoseconds too_little = -1;
  while (enough - too_little > 1) {
    const Picoseconds middle = too_little + (enough - too_little) / 2;
    (can_bring(channels, rank, chunks, middle) ? enough : too_little) = middle;
  }
  return enough;
}

}  // namespace

Picoseconds in_rate_bound(const Flood& flood) {
  Picoseconds bound = 0;
  for (Rank rank : indices<Rank>(flood.channels.rank_count())) {
    const std::int64_t lacks =
        flood.chunk_count - static_cast<std::int64_t>(flood.start[static_cast<std::size_t>(rank)].size());
    bound = std::max(bound, least_time(flood.channels, rank, lacks));
  }
  return bound;
}

}  // namespace hemiola::synthesis
