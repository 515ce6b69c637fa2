#include "hemiola/synthesis/flood.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "hemiola/base/error.hpp"

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

/// "ranks 0, 1, 2, … (40 of them)".
std::string list_ranks(const std::vector<bool>& member, bool value) {
  constexpr int kNamed = 6;
  std::string text;
  int count = 0;
  for (std::size_t r = 0; r < member.size(); ++r)
    if (member[r] == value && ++count <= kNamed) text += (count > 1 ? ", " : "") + std::to_string(r);
  if (count > kNamed) text += ", … (" + std::to_string(count) + " of them)";
  return (count == 1 ? "rank " : "ranks ") + text;
}

}  // namespace

std::int64_t Flood::sends_needed() const {
  std::int64_t sends = static_cast<std::int64_t>(chunk_count) * channels.rank_count();
  for (const auto& chunks : start) sends -= static_cast<std::int64_t>(chunks.size());
  return sends;
}

void check_reachable(const Channels& channels, const std::vector<Rank>& from, const std::vector<Rank>& to) {
  std::vector<bool> reached(static_cast<std::size_t>(channels.rank_count()), false);
  for (Rank rank : from) reached[static_cast<std::size_t>(rank)] = true;
  spread(channels, &reached);
  const auto cut_off =
      std::find_if(to.begin(), to.end(), [&](Rank rank) { return !reached[static_cast<std::size_t>(rank)]; });
  if (cut_off == to.end()) return;
  throw ArgumentError("synthesize: rank " + std::to_string(from[0]) + " cannot reach rank " +
                      std::to_string(*cut_off) + ": no link leads from " + list_ranks(reached, true) +
                      " to " + list_ranks(reached, false) + ". Add a link, or leave one side out.");
}

void check_reachable(const Flood& flood) {
  const int ranks = flood.channels.rank_count();
  std::vector<Rank> everyone;
  for (Rank rank : indices<Rank>(ranks)) everyone.push_back(rank);
  // Every rank reaches every other one exactly if rank 0 reaches all, there and on the network turned round; then no
  // search per chunk is needed.
  std::vector<bool> there(everyone.size(), false), back(everyone.size(), false);
  there[0] = back[0] = true;
  spread(flood.channels, &there);
  spread(flood.channels.reversed(), &back);
  const auto all = [](const std::vector<bool>& reached) {
    return std::find(reached.begin(), reached.end(), false) == reached.end();
  };
  if (all(there) && all(back)) return;
  std::vector<std::vector<Rank>> holders(static_cast<std::size_t>(flood.chunk_count));
  for (Rank rank : everyone)
    for (Chunk chunk : flood.start[static_cast<std::size_t>(rank)])
      holders[static_cast<std::size_t>(chunk)].push_back(rank);
  std::set<std::vector<Rank>> distinct(holders.begin(), holders.end());
  for (const std::vector<Rank>& from : distinct) check_reachable(flood.channels, from, everyone);
}

}  // namespace hemiola::synthesis
