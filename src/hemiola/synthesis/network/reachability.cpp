// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/network/reachability.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/topology/sides.hpp"

namespace hemiola::synthesis {
namespace {

/// Which ranks a chunk gets to from those marked in `reached`.
void spread(const Channels& channels, std::vector<bool>* reached) {
  std::vector<Rank> frontier;
  for (Rank rank : indices<Rank>(channels.rank_count()))
    if ((*reached)[static_cast<std::size_t>(rank)]) frontier.push_back(rank);
  while (!frontier.empty()) {
    const Rank rank = frontier.back();
    frontier.pop_back();
    for (std::uint32_t c = channels.first_out(rank); c < channels.first_out(rank + 1); ++c) {
      const Rank next = channels[c].dst;
      if ((*reached)[static_cast<std::size_t>(next)]) continue;
      (*reached)[static_cast<std::size_t>(next)] = true;
      frontier.push_back(next);
    }
  }
}

std::vector<bool> reached_from(const Channels& channels, const std::vector<Rank>& ranks) {
  std::vector<bool> reached(static_cast<std::size_t>(channels.rank_count()), false);
  for (const Rank rank : ranks) reached[static_cast<std::size_t>(rank)] = true;
  spread(channels, &reached);
  return reached;
}

/// Then no search per chunk is needed.
bool everyone_reaches_everyone(const Channels& channels) {
  const std::vector<bool> there = reached_from(channels, {Rank{0}});
  const std::vector<bool> back = reached_from(channels.reversed(), {Rank{0}});
  const auto all = [](const std::vector<bool>& reached) {
    return std::find(reached.begin(), reached.end(), false) == reached.end();
  };
  return all(there) && all(back);
}

[[noreturn]] void refuse(Rank from, Rank to, const std::vector<bool>& reached, bool turned) {
  const Rank src = turned ? to : from, dst = turned ? from : to;
  throw ArgumentError("synthesize: rank " + std::to_string(src) + " cannot reach rank " +
                      std::to_string(dst) + ": " + missing_link(reached, turned));
}

}  // namespace

void check_reachable(const Channels& channels, const Phase& phase) {
  if (everyone_reaches_everyone(channels)) return;
  std::vector<Rank> everyone;
  for (Rank rank : indices<Rank>(channels.rank_count())) everyone.push_back(rank);
  std::map<std::vector<Rank>, std::vector<bool>> searches;
  for (std::size_t chunk = 0; chunk < phase.holders.size(); ++chunk) {
    const std::vector<Rank>& from = phase.holders[chunk];
    if (from.empty()) continue;
    const auto [search, is_new] = searches.try_emplace(from);
    if (is_new) search->second = reached_from(channels, from);
    for (const Rank rank : phase.to_all ? everyone : phase.wanted[chunk])
      if (!search->second[static_cast<std::size_t>(rank)])
        refuse(from[0], rank, search->second, phase.turned);
  }
}

}  // namespace hemiola::synthesis
