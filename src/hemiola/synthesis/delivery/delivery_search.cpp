#include "hemiola/synthesis/delivery/delivery_search.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "hemiola/synthesis/delivery/tree_router.hpp"
#include "hemiola/synthesis/delivery/tree_scheduler.hpp"
#include "hemiola/synthesis/network/replay.hpp"

namespace hemiola::synthesis {
namespace {

using RanksPerChunk = std::vector<std::vector<Rank>>;

/// Whether each chunk that moves has one holder, and all go to the same rank.
bool has_one_sink(const Delivery& delivery) {
  const std::vector<Rank>* sink = nullptr;
  for (std::size_t chunk = 0; chunk < delivery.holders.size(); ++chunk) {
    const std::vector<Rank>& wanted = delivery.wanted[chunk];
    if (wanted.empty()) continue;
    if (wanted.size() != 1 || delivery.holders[chunk].size() != 1 || (sink && *sink != wanted)) return false;
    sink = &wanted;
  }
  return sink != nullptr;
}

/// Ways to one rank, found from there: the links into it are the busiest, so that a search from elsewhere looks at all
/// other ranks before it takes one of them.
Trees route_from_sink(const Delivery& delivery, std::uint64_t seed) {
  RanksPerChunk from(delivery.holders.size()), to(delivery.holders.size());
  for (std::size_t chunk = 0; chunk < from.size(); ++chunk)
    if (!delivery.wanted[chunk].empty()) {
      from[chunk] = delivery.wanted[chunk];
      to[chunk] = delivery.holders[chunk];
    }
  const Channels reversed = delivery.channels.reversed();
  Trees trees = TreeRouter({reversed, from, to}, seed).route();
  // The reversed network's channels, sorted by their sources, are this one's sorted by destination.
  const std::span<const std::uint32_t> by_destination = delivery.channels.by_destination();
  for (std::vector<std::uint32_t>& way : trees) {
    std::reverse(way.begin(), way.end());
    for (std::uint32_t& channel : way) channel = by_destination[channel];
  }
  return trees;
}

}  // namespace

Candidate search_delivery(const Delivery& delivery, std::uint64_t seed, SearchState* state) {
  Candidate candidate;
  const Trees trees =
      has_one_sink(delivery) ? route_from_sink(delivery, seed) : TreeRouter(delivery, seed).route();
  candidate.complete = TreeScheduler(delivery.channels, trees, {.seed = seed}).run(state, &candidate.sends);
  if (!candidate.complete) return candidate;
  number_steps(delivery.channels, delivery.chunk_count(), &candidate.sends);
  candidate.duration = replay(delivery.channels, candidate.sends, delivery.chunk_count());
  return candidate;
}

}  // namespace hemiola::synthesis
