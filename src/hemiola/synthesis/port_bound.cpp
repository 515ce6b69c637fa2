// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/port_bound.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "hemiola/base/longest.hpp"

namespace hemiola::synthesis {
namespace {

/// A link over which chunks enter a rank.
struct Entry {
  std::uint32_t link;
  Picoseconds first;  ///< when it can have brought its first chunk
  Picoseconds busy;   ///< and how much later each further one
};

/// The links over which chunks enter a rank, each once.
std::vector<Entry> entries_of(const Channels& channels, Rank rank) {
  std::vector<Entry> entries;
  for (const std::uint32_t c : channels.into(rank)) {
    const Hop& last = channels.hops(c).back();
    entries.push_back({last.link, channels.delay(c), last.busy});
  }
  const auto by_link = [](const Entry& a, const Entry& b) {
    return std::tie(a.link, a.first) < std::tie(b.link, b.first);
  };
  std::sort(entries.begin(), entries.end(), by_link);
  const auto same_link = [](const Entry& a, const Entry& b) { return a.link == b.link; };
  entries.erase(std::unique(entries.begin(), entries.end(), same_link), entries.end());
  return entries;
}

bool can_bring(const std::vector<Entry>& entries, std::int64_t chunks, Picoseconds time) {
  for (const Entry& entry : entries) {
    if (time < entry.first) continue;
    if (entry.busy == 0) return true;
    chunks -= (time - entry.first) / entry.busy + 1;
    if (chunks <= 0) return true;
  }
  return false;
}

Picoseconds least_time(const std::vector<Entry>& entries, std::int64_t chunks) {
  if (chunks == 0) return 0;
  Picoseconds enough = 0;
  for (const Entry& entry : entries) {
    const auto all = static_cast<__int128>(chunks) * entry.busy;
    enough = std::max(enough, entry.first + static_cast<Picoseconds>(std::min<__int128>(all, kLongest)));
  }
  Picoseconds too_little = -1;
  while (enough - too_little > 1) {
    const Picoseconds middle = too_little + (enough - too_little) / 2;
    (can_bring(entries, chunks, middle) ? enough : too_little) = middle;
  }
  return enough;
}

}  // namespace

Picoseconds port_bound(const Flood& flood) {
  Picoseconds bound = 0;
  for (Rank rank : indices<Rank>(flood.channels.rank_count())) {
    const std::int64_t lacks =
        flood.chunk_count - static_cast<std::int64_t>(flood.start[static_cast<std::size_t>(rank)].size());
    bound = std::max(bound, least_time(entries_of(flood.channels, rank), lacks));
  }
  return bound;
}

Picoseconds port_bound(const Delivery& delivery) {
  const auto ranks = static_cast<std::size_t>(delivery.channels.rank_count());
  std::vector<std::int64_t> enter(ranks, 0), leave(ranks, 0);
  for (std::size_t chunk = 0; chunk < delivery.holders.size(); ++chunk) {
    for (const Rank rank : delivery.wanted[chunk]) ++enter[static_cast<std::size_t>(rank)];
    if (delivery.holders[chunk].size() == 1 && !delivery.wanted[chunk].empty())
      ++leave[static_cast<std::size_t>(delivery.holders[chunk][0])];
  }
  const Channels reversed = delivery.channels.reversed();
  Picoseconds bound = 0;
  for (Rank rank : indices<Rank>(delivery.channels.rank_count())) {
    const auto r = static_cast<std::size_t>(rank);
    bound = std::max(bound, least_time(entries_of(delivery.channels, rank), enter[r]));
    bound = std::max(bound, least_time(entries_of(reversed, rank), leave[r]));
  }
  return bound;
}

}  // namespace hemiola::synthesis
