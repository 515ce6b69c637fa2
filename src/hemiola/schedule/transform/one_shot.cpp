// SPDX-License-Identifier: Apache-2.0
// Three ranks of a ring that all-gather in one step; x0 is rank 0's buffer. Entries are the contents of rank
// 0's slots after:
//
//              buffer     scratch 1   scratch 2   scratch 3
//   aside      x0         x0
//   gather     x0         x0          x1          x2
//   sum        x0         x0+x1+x2    x1          x2
//   back       x0+x1+x2
#include "hemiola/schedule/transform/one_shot.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// The place where each rank keeps the data of `rank`.
std::int32_t slot_of(Rank rank) {
  return 1 + rank;
}

/// The slot in which the sum grows, part by part in the order of the ranks.
constexpr std::int32_t kSumSlot = 1;

/// For each chunk of the all-gather, which of its owner's chunks it is.
std::vector<Chunk> numbers_within_owners(const Collective& all_gather) {
  std::vector<Chunk> number;
  std::vector<int> seen(static_cast<std::size_t>(all_gather.rank_count()));
  for (Rank owner : all_gather.owner()) number.push_back(Chunk{seen[static_cast<std::size_t>(owner)]++});
  if (std::adjacent_find(seen.begin(), seen.end(), std::not_equal_to<>()) != seen.end())
    throw ArgumentError("one_shot_all_reduce: expected an all_gather with equally many chunks of each rank");
  return number;
}

void check(const Schedule& schedule) {
  refuse_scratch(schedule, "one_shot_all_reduce");
  if (schedule.collective().kind() != CollectiveKind::all_gather)
    throw ArgumentError("one_shot_all_reduce: expected an all_gather, found a " +
                        std::string(name_of(schedule.collective().kind())));
  if (!schedule.chunk_weights().empty())
    throw ArgumentError("one_shot_all_reduce: expected chunks of equal weights");
  constexpr int kMostRanks = 2047;
  static_assert(std::int64_t{kMostRanks} * (kMostRanks + 1) <= ScheduleBuilder::kMaxSlots);
  if (schedule.rank_count() > kMostRanks)
    throw ArgumentError("one_shot_all_reduce: expected at most " + std::to_string(kMostRanks) +
                        " ranks, each of which takes a scratch slot on all; found " +
                        std::to_string(schedule.rank_count()));
}

/// Nobody reduces for others, so that an owner means nothing here.
Collective all_reduce_of(int rank_count, int chunk_count) {
  return Collective::with_owners(CollectiveKind::all_reduce, rank_count,
                                 std::vector<Rank>(static_cast<std::size_t>(chunk_count), Rank{0}), Rank{0});
}

class OneShot {
 public:
  OneShot(int rank_count, int chunk_count)
      : builder_(all_reduce_of(rank_count, chunk_count)), chunk_count_(chunk_count) {}

  Schedule make(const Schedule& all_gather, const std::vector<Chunk>& number) {
    if (builder_.rank_count() == 1) return builder_.finish();
    for_each_rank_and_chunk([&](Rank rank, Chunk chunk) { move(aside_, rank, chunk, 0, slot_of(rank)); });
    all_gather.for_each([&](Transfer t) {
      const std::int32_t slot = slot_of(all_gather.collective().owner_of(t.chunk));
      const Chunk chunk = number[static_cast<std::size_t>(t.chunk)];
      builder_.add({Step{aside_ + 1 + t.step}, t.src, t.dst, chunk, false, slot, slot});
    });
    const Step sum{aside_ + 1 + all_gather.step_count()}, back{sum + 1};
    for_each_rank_and_chunk([&](Rank rank, Chunk chunk) {
      for (std::int32_t slot = kSumSlot + 1; slot <= builder_.rank_count(); ++slot)
        builder_.add({sum, rank, rank, chunk, true, slot, kSumSlot});
      move(back, rank, chunk, kSumSlot, 0);
    });
    return builder_.finish();
  }

 private:
  template <typename Visit>
  void for_each_rank_and_chunk(Visit visit) const {
    for (Rank rank : indices<Rank>(builder_.rank_count()))
      for (Chunk chunk : indices<Chunk>(chunk_count_)) visit(rank, chunk);
  }
  void move(Step step, Rank rank, Chunk chunk, std::int32_t from, std::int32_t to) {
    builder_.add({step, rank, rank, chunk, false, from, to});
  }

  ScheduleBuilder builder_;
  const int chunk_count_;
  const Step aside_{0};
};

}  // namespace

Schedule one_shot_all_reduce(const Schedule& all_gather) {
  check(all_gather);
  const std::vector<Chunk> number = numbers_within_owners(all_gather.collective());
  return OneShot(all_gather.rank_count(), all_gather.chunk_count() / all_gather.rank_count())
      .make(all_gather, number);
}

}  // namespace hemiola
