// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/network/phases.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hemiola::synthesis {
namespace {

using RanksPerChunk = std::vector<std::vector<Rank>>;

RanksPerChunk owners(const Collective& collective) {
  RanksPerChunk holders;
  holders.reserve(collective.owner().size());
  for (const Rank owner : collective.owner()) holders.push_back({owner});
  return holders;
}

Phase from_owners_to_all(const Collective& collective, bool reducing) {
  Phase phase;
  phase.turned = phase.reducing = reducing;
  phase.holders = owners(collective);
  phase.to_all = true;
  return phase;
}

/// Each chunk has one holder and one other rank that wants it.
template <typename Destination>
Phase one_to_one(const Collective& collective, RanksPerChunk holders, Destination destination) {
  Phase phase;
  phase.holders = std::move(holders);
  for (Chunk chunk : indices<Chunk>(collective.chunk_count())) {
    const Rank rank = destination(chunk);
    const bool is_there = phase.holders[static_cast<std::size_t>(chunk)][0] == rank;
    phase.wanted.push_back(is_there ? std::vector<Rank>{} : std::vector<Rank>{rank});
  }
  return phase;
}

RanksPerChunk by_chunk(const std::vector<Collective::Place>& places, int chunk_count) {
  RanksPerChunk ranks(static_cast<std::size_t>(chunk_count));
  for (const auto& [rank, chunk] : places) ranks[static_cast<std::size_t>(chunk)].push_back(rank);
  return ranks;
}

/// Both sorted.
std::vector<Rank> without(const std::vector<Rank>& ranks, const std::vector<Rank>& left_out) {
  std::vector<Rank> rest;
  std::set_difference(ranks.begin(), ranks.end(), left_out.begin(), left_out.end(), std::back_inserter(rest));
  return rest;
}

Phase spreading(RanksPerChunk holders, const RanksPerChunk& wanted, int rank_count, bool reducing) {
  Phase phase;
  phase.turned = phase.reducing = reducing;
  phase.to_all = true;
  for (std::size_t c = 0; c < holders.size(); ++c) {
    phase.wanted.push_back(without(wanted[c], holders[c]));
    phase.to_all &= phase.wanted[c].size() + holders[c].size() == static_cast<std::size_t>(rank_count);
  }
  if (phase.to_all) phase.wanted.clear();
  phase.holders = std::move(holders);
  return phase;
}

/// One rank per chunk that adds it up: one that wants the result, contributors first, and not the same one for all.
RanksPerChunk adders(const RanksPerChunk& parts, const RanksPerChunk& wanted) {
  RanksPerChunk chosen(wanted.size());
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    std::vector<Rank> able;
    std::set_intersection(wanted[c].begin(), wanted[c].end(), parts[c].begin(), parts[c].end(),
                          std::back_inserter(able));
    if (able.empty()) able = wanted[c];
    if (!able.empty()) chosen[c] = {able[c % able.size()]};
  }
  return chosen;
}

std::vector<Phase> phases_of_custom(const Collective& collective) {
  const RanksPerChunk before = by_chunk(collective.before(), collective.chunk_count());
  const RanksPerChunk after = by_chunk(collective.after(), collective.chunk_count());
  if (!collective.is_reducing()) return {spreading(before, after, collective.rank_count(), false)};
  RanksPerChunk parts = before;
  const RanksPerChunk to = adders(parts, after);
  for (std::size_t c = 0; c < to.size(); ++c)
    if (to[c].empty()) parts[c].clear();  // nobody wants it
  std::vector<Phase> phases{spreading(to, parts, collective.rank_count(), true)};
  if (after != to) phases.push_back(spreading(to, after, collective.rank_count(), false));
  return phases;
}

}  // namespace

std::vector<Phase> phases_of(const Collective& collective) {
  switch (collective.kind()) {
    case CollectiveKind::all_gather:
    case CollectiveKind::broadcast:
      return {from_owners_to_all(collective, false)};
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::reduce:
      return {from_owners_to_all(collective, true)};
    case CollectiveKind::all_reduce:
      return {from_owners_to_all(collective, true), from_owners_to_all(collective, false)};
    case CollectiveKind::scatter:
    case CollectiveKind::gather: {
      Phase phase = one_to_one(collective, owners(collective), [&](Chunk) { return collective.root(); });
      phase.turned = collective.kind() == CollectiveKind::scatter;
      return {std::move(phase)};
    }
    case CollectiveKind::all_to_all:
      return {one_to_one(collective, owners(collective),
                         [&](Chunk chunk) { return collective.destination_of(chunk); })};
    case CollectiveKind::custom:
      break;
  }
  return phases_of_custom(collective);
}

}  // namespace hemiola::synthesis
