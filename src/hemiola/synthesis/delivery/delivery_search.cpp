// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/delivery/delivery_search.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "hemiola/synthesis/delivery/tree_router.hpp"
#include "hemiola/synthesis/network/listed.hpp"

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
ChunkWays route_from_sink(const Delivery& delivery, std::uint64_t seed) {
  RanksPerChunk from(delivery.holders.size()), to(delivery.holders.size());
  for (std::size_t chunk = 0; chunk < from.size(); ++chunk)
    if (!delivery.wanted[chunk].empty()) {
      from[chunk] = delivery.wanted[chunk];
      to[chunk] = delivery.holders[chunk];
    }
  const Channels reversed = delivery.channels.reversed();
  ChunkWays ways = TreeRouter({reversed, from, to}, seed).route(TreeRouter::Rounds::first_is_longest);
  // The reversed network's channels, sorted by their sources, are this one's sorted by destination.
  const std::span<const std::uint32_t> by_destination = delivery.channels.by_destination();
  for (std::vector<std::uint32_t>& way : ways) {
    std::reverse(way.begin(), way.end());
    for (std::uint32_t& channel : way) channel = by_destination[channel];
  }
  return ways;
}

/// A tree for each chunk.
trees::Trees trees_of(ChunkWays ways) {
  trees::Trees found;
  for (std::vector<std::uint32_t>& way : ways) {
    found.tree_of.push_back(static_cast<std::uint32_t>(found.trees.size()));
    found.trees.push_back({.channels = std::move(way)});
  }
  return found;
}

}  // namespace

Candidate search_delivery(const Delivery& delivery, std::uint64_t seed, SearchState* state) {
  const trees::Trees trees =
      trees_of(has_one_sink(delivery) ? route_from_sink(delivery, seed) : TreeRouter(delivery, seed).route());
  trees::Turned turned = listed(delivery.channels, trees,
                                {.seed = seed, .advance = [&](std::int64_t n) { return state->advance(n); }});
  return {std::move(turned.sends), turned.end, turned.complete};
}

}  // namespace hemiola::synthesis
