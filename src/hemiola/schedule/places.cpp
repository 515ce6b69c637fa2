// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/places.hpp"

#include "hemiola/base/error.hpp"

namespace hemiola {

std::span<const Rank> Places::ByChunk::of(Chunk chunk) const {
  const auto c = static_cast<std::size_t>(chunk);
  return std::span(rank).subspan(static_cast<std::size_t>(offset[c]),
                                 static_cast<std::size_t>(offset[c + 1] - offset[c]));
}

/// Places come sorted by rank, so a stable counting sort leaves each chunk's ranks ascending.
Places::ByChunk Places::index_by_chunk(const std::vector<Collective::Place>& places, int chunk_count) {
  ByChunk by_chunk;
  by_chunk.offset.assign(static_cast<std::size_t>(chunk_count) + 1, 0);
  for (const auto& [rank, chunk] : places) ++by_chunk.offset[static_cast<std::size_t>(chunk) + 1];
  for (std::size_t c = 1; c < by_chunk.offset.size(); ++c) by_chunk.offset[c] += by_chunk.offset[c - 1];
  std::vector<std::int64_t> next(by_chunk.offset.begin(), by_chunk.offset.end() - 1);
  by_chunk.rank.resize(places.size());
  for (const auto& [rank, chunk] : places)
    by_chunk.rank[static_cast<std::size_t>(next[static_cast<std::size_t>(chunk)]++)] = rank;
  return by_chunk;
}

Places::Places(const Collective& collective) : collective_(collective) {
  all_.reserve(static_cast<std::size_t>(collective.rank_count()));
  for (Rank rank : indices<Rank>(collective.rank_count())) all_.push_back(rank);
  if (collective.kind() == CollectiveKind::custom) {
    defined_ = index_by_chunk(collective.before(), collective.chunk_count());
    wanted_ = index_by_chunk(collective.after(), collective.chunk_count());
  }
}

std::span<const Rank> Places::defined(Chunk chunk) const {
  switch (collective_.kind()) {
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
      return one(collective_.owner_of(chunk));
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return one(collective_.root());
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce:
      return all_;
    case CollectiveKind::custom:
      break;
  }
  return defined_.of(chunk);
}

std::span<const Rank> Places::wanted(Chunk chunk) const {
  switch (collective_.kind()) {
    case CollectiveKind::all_gather:
    case CollectiveKind::all_reduce:
    case CollectiveKind::broadcast:
      return all_;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::scatter:
      return one(collective_.owner_of(chunk));
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
      return one(collective_.root());
    case CollectiveKind::all_to_all:
      return one(collective_.destination_of(chunk));
    case CollectiveKind::custom:
      break;
  }
  return wanted_.of(chunk);
}

}  // namespace hemiola
