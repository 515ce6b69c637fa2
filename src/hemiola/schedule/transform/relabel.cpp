// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/transform/relabel.hpp"

#include <string>
#include <utility>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

template <typename I>
void check_permutation(const std::vector<I>& to, int count, const char* what) {
  if (to.size() != static_cast<std::size_t>(count))
    throw ArgumentError("relabel: expected a permutation of " + std::to_string(count) + " " + what +
                        ", found " + std::to_string(to.size()) + " numbers");
  std::vector<bool> seen(to.size());
  for (I i : to) {
    if (i < 0 || i >= count || seen[static_cast<std::size_t>(i)])
      throw ArgumentError("relabel: expected a permutation of " + std::to_string(count) + " " + what +
                          ", found " + std::to_string(i) + (i < 0 || i >= count ? "" : " twice"));
    seen[static_cast<std::size_t>(i)] = true;
  }
}

template <typename I>
I at(const std::vector<I>& to, I from) {
  return to[static_cast<std::size_t>(from)];
}

template <typename I>
std::vector<I> identity(int count) {
  std::vector<I> same;
  same.reserve(static_cast<std::size_t>(count));
  for (I i : indices<I>(count)) same.push_back(i);
  return same;
}

/// Both renamings at once; an all_to_all's constructor would refuse one without the other.
struct Renaming {
  std::vector<Rank> ranks;
  std::vector<Chunk> chunks;

  std::vector<Collective::Place> operator()(const std::vector<Collective::Place>& places) const {
    std::vector<Collective::Place> renamed;
    renamed.reserve(places.size());
    for (const auto& [rank, chunk] : places) renamed.emplace_back(at(ranks, rank), at(chunks, chunk));
    return renamed;
  }
  Collective operator()(const Collective& c) const {
    if (c.kind() == CollectiveKind::custom)
      return Collective::custom(c.rank_count(), c.chunk_count(), (*this)(c.before()), (*this)(c.after()),
                                c.is_reducing());
    std::vector<Rank> owner(c.owner().size());
    for (Chunk chunk : indices<Chunk>(c.chunk_count()))
      owner[static_cast<std::size_t>(at(chunks, chunk))] = at(ranks, c.owner_of(chunk));
    return Collective::with_owners(c.kind(), c.rank_count(), std::move(owner), at(ranks, c.root()));
  }
  Schedule operator()(const Schedule& schedule) const {
    ScheduleBuilder builder((*this)(schedule.collective()));
    if (!schedule.chunk_weights().empty()) {
      std::vector<std::int64_t> weights(schedule.chunk_weights().size());
      for (std::size_t c = 0; c < weights.size(); ++c)
        weights[static_cast<std::size_t>(chunks[c])] = schedule.chunk_weights()[c];
      builder.set_chunk_weights(std::move(weights));
    }
    builder.reserve(schedule.transfer_count());
    schedule.for_each([&](const Transfer& t) {
      builder.add({t.step, at(ranks, t.src), at(ranks, t.dst), at(chunks, t.chunk), t.reduce, t.src_slot,
                   t.dst_slot});
    });
    return builder.finish();
  }
};

/// In an all_to_all, where the chunks of renamed ranks belong.
std::vector<Chunk> follow_ranks(const Collective& c, const std::vector<Rank>& ranks) {
  std::vector<Chunk> chunks = identity<Chunk>(c.chunk_count());
  if (c.kind() != CollectiveKind::all_to_all) return chunks;
  const int pieces = c.chunk_count() / (c.rank_count() * c.rank_count());
  for (Chunk& chunk : chunks)
    chunk =
        Chunk{(at(ranks, c.owner_of(chunk)) * c.rank_count() + at(ranks, c.destination_of(chunk))) * pieces +
              chunk % pieces};
  return chunks;
}

}  // namespace

Schedule relabel_ranks(const Schedule& schedule, const std::vector<Rank>& ranks) {
  check_permutation(ranks, schedule.rank_count(), "ranks");
  return Renaming{ranks, follow_ranks(schedule.collective(), ranks)}(schedule);
}

Schedule relabel_chunks(const Schedule& schedule, const std::vector<Chunk>& chunks) {
  const Collective& c = schedule.collective();
  check_permutation(chunks, schedule.chunk_count(), "chunks");
  if (c.kind() == CollectiveKind::all_to_all)
    for (Chunk chunk : indices<Chunk>(c.chunk_count()))
      if (c.owner_of(at(chunks, chunk)) != c.owner_of(chunk) ||
          c.destination_of(at(chunks, chunk)) != c.destination_of(chunk))
        throw ArgumentError("relabel: chunk " + std::to_string(chunk) +
                            " of an all_to_all must stay between rank " + std::to_string(c.owner_of(chunk)) +
                            " and rank " + std::to_string(c.destination_of(chunk)));
  return Renaming{identity<Rank>(schedule.rank_count()), chunks}(schedule);
}

}  // namespace hemiola
