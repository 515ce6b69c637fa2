// SPDX-License-Identifier: Apache-2.0
// The messages of a shifted direct exchange in segments: in each round, one from every rank to the rank so many places
// ahead, about the sections that the two of them own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hemiola/algorithms/index/ownership.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// Repeats one segment's column for every segment.
template <typename T>
std::vector<T> per_segment(const std::vector<T>& column, int segments) {
  std::vector<T> all;
  all.reserve(column.size() * static_cast<std::size_t>(segments));
  for (int segment = 0; segment < segments; ++segment) all.insert(all.end(), column.begin(), column.end());
  return all;
}

/// Throws ArgumentError, `what` first, for a rank that does not exist.
void check_rank(const std::string& what, Rank rank, int rank_count);

/// The sender and the time of each chunk; a chunk is a section of a segment.
struct Exchange {
  int rank_count;
  int segments;
  Sections sections;

  Exchange(int ranks, int segment_count, const std::vector<std::int64_t>& weight_of_rank)
      : rank_count(ranks), segments(segment_count), sections(weight_of_rank) {}

  int rounds() const { return rank_count - 1; }
  int bodies() const { return segments + 1; }
  Step step(int body, int round) const { return Step{body * rounds() + round - 1}; }
  Rank ahead(Rank rank, int round) const { return Rank{(rank + round) % rank_count}; }
  Rank behind(Rank rank, int round) const { return Rank{(rank + rank_count - round) % rank_count}; }
  Chunk chunk(int segment, Rank owner) const {
    return Chunk{segment * sections.count() + sections.index_of(owner)};
  }

  /// Calls add(Transfer) for the messages of `src` in that round of an all-reduce, by chunk.
  template <typename Add>
  void all_reduce_message(int body, int round, Rank src, Add add) const {
    const Rank dst = ahead(src, round);
    const Step at = step(body, round);
    if (body > 0 && sections.owns(src)) add(Transfer{at, src, dst, chunk(body - 1, src), false});
    if (body < segments && sections.owns(dst)) add(Transfer{at, src, dst, chunk(body, dst), true});
  }

  /// All of a rank's messages in an all-reduce: in each round the one it sends and the one it receives, by sender.
  std::vector<Transfer> all_reduce_part(Rank rank) const {
    check_rank("all_reduce_weighted_exchange: expected rank", rank, rank_count);
    std::vector<Transfer> part;
    part.reserve(4 * static_cast<std::size_t>(bodies()) * static_cast<std::size_t>(rounds()));
    const auto add = [&](const Transfer& t) { part.push_back(t); };
    for (int body = 0; body < bodies(); ++body)
      for (int round = 1; round <= rounds(); ++round) {
        const Rank sender = behind(rank, round);
        all_reduce_message(body, round, std::min(sender, rank), add);
        all_reduce_message(body, round, std::max(sender, rank), add);
      }
    return part;
  }

  Collective collective(CollectiveKind kind, Rank root = Rank{0}) const {
    auto owners = per_segment(sections.owners, segments);
    if (is_rooted(kind)) owners.assign(owners.size(), root);
    return Collective::with_owners(kind, rank_count, std::move(owners), root);
  }
  ScheduleBuilder builder(CollectiveKind kind, Rank root = Rank{0}) const {
    ScheduleBuilder made(collective(kind, root));
    made.set_chunk_weights(per_segment(sections.weight, segments));
    return made;
  }
};

/// One whose sections follow the slowdowns; throws ArgumentError, naming `algorithm`, as check_slowdown.
Exchange checked_exchange(const char* algorithm, int rank_count, const std::vector<double>& slowdown,
                          int segments);

}  // namespace hemiola::algorithms
