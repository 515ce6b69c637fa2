#include "hemiola/algorithms/late_several.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "hemiola/algorithms/finish_in_job.hpp"
#include "hemiola/algorithms/late.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

void check(const std::string& algorithm, int rank_count, const std::vector<Rank>& late_ranks,
           int chunk_count) {
  const std::string where = algorithm + ": ";
  if (late_ranks.empty()) throw ArgumentError(where + "expected at least one late rank, found none");
  for (Rank late : late_ranks) check_late_rank(algorithm.c_str(), rank_count, late);
  std::vector<Rank> sorted = late_ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw ArgumentError(where + "expected distinct late ranks, found " + std::to_string(*twice) + " twice");
  if (static_cast<int>(late_ranks.size()) > rank_count - 2)
    throw ArgumentError(where + "expected at least 2 of " + std::to_string(rank_count) +
                        " ranks in time, found " + std::to_string(late_ranks.size()) + " late ones");
  if (chunk_count < 1 || chunk_count > (1 << 20))
    throw ArgumentError(where + "expected chunk_count in 1 … 2^20, found " + std::to_string(chunk_count));
}

std::vector<Rank> others(int rank_count, const std::vector<Rank>& ranks) {
  std::vector<Rank> rest;
  for (Rank rank : indices<Rank>(rank_count))
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) rest.push_back(rank);
  return rest;
}

/// Reduces a chunk along a ring of the given ranks, so that it ends at place `end` of the ring.
void add_ring_reduce(ScheduleBuilder* builder, const std::vector<Rank>& ring, std::size_t end, Chunk chunk) {
  for (std::size_t hop = 0; hop + 1 < ring.size(); ++hop)
    builder->reduce(Step{hop}, ring[(end + 1 + hop) % ring.size()], ring[(end + 2 + hop) % ring.size()],
                    chunk);
}

/// Who holds each chunk of the finish, reduced over all ranks that are here so far.
class Holders {
 public:
  Holders(const FinishInJob& finish, std::vector<Rank> in_time)
      : finish_(finish), in_time_(std::move(in_time)) {}

  /// The ranks in time reduce every chunk at its owner, or at one of them in turn while its owner is late.
  void reduce_scatter(ScheduleBuilder* builder) {
    std::size_t next = 0;
    for (Chunk c : indices<Chunk>(chunk_count())) {
      auto at = std::find(in_time_.begin(), in_time_.end(), owner(c));
      if (at == in_time_.end()) at = in_time_.begin() + static_cast<std::ptrdiff_t>(next++ % in_time_.size());
      holder_.push_back(*at);
      add_ring_reduce(builder, in_time_, static_cast<std::size_t>(at - in_time_.begin()),
                      finish_.piece(c, 0));
    }
  }

  /// One chunk a round leaves the late rank, in the order in which the finish will need them; those that it owns
  /// come to it, spread over the same rounds. Returns the first step that follows.
  int fold_in(Rank late, ScheduleBuilder* builder, int first_step) {
    int owned = 0;
    for (Chunk c : indices<Chunk>(chunk_count())) owned += owner(c) == late;
    const int rounds = std::max(chunk_count() - owned, owned);
    int sent = 0, received = 0;
    for (Chunk c : indices<Chunk>(chunk_count())) {
      Rank& holder = holder_[static_cast<std::size_t>(c)];
      if (owner(c) == late) {
        builder->reduce(Step{first_step + received++ * rounds / owned}, holder, late, finish_.piece(c, 0));
        holder = late;
      } else {
        builder->reduce(Step{first_step + sent++}, late, holder, finish_.piece(c, 0));
      }
    }
    return first_step + rounds;
  }

 private:
  int chunk_count() const { return static_cast<int>(finish_.table.owner.size()); }
  Rank owner(Chunk c) const { return finish_.rank(finish_.owner(c)); }

  const FinishInJob& finish_;
  const std::vector<Rank> in_time_;
  std::vector<Rank> holder_;
};

/// Chunks that belong to the ranks in time in turn: a turn is one chunk each. Ranks stand in a circle, those in
/// time first, then the late ones, and in round r of a turn each sends to the r-th behind it:
///
///     who sends, to    a rank in time                                a late rank
///     in time          its chunk of this turn, which is complete     the same
///     late             its part of the receiver's chunk of the next  nothing
///
/// So every port in time is busy in every round, in both directions, and a chunk has all late parts when its turn
/// comes.
class Turns {
 public:
  Turns(std::vector<Rank> in_time, std::vector<Rank> late_ranks, int chunk_count)
      : early_count_(static_cast<int>(in_time.size())),
        chunk_count_(chunk_count),
        circle_(std::move(in_time)) {
    circle_.insert(circle_.end(), late_ranks.begin(), late_ranks.end());
  }

  int count() const { return (chunk_count_ + early_count_ - 1) / early_count_; }
  int owner(Chunk c) const { return c % early_count_; }
  Rank rank(int place) const { return circle_[static_cast<std::size_t>(place)]; }

  /// Late parts for the first turn, which takes no more rounds than there are ranks in time.
  int begin(ScheduleBuilder* builder, int first_step) const {
    for (int round = 0; round < early_count_; ++round)
      for (int late = early_count_; late < rank_count(); ++late)
        add_part(builder, first_step + round, late, (round + late) % early_count_, 0);
    return first_step + early_count_;
  }

  int run(ScheduleBuilder* builder, int turn, int first_step) const {
    for (int round = 1; round < rank_count(); ++round)
      for (int from = 0; from < rank_count(); ++from) {
        const int to = (from + round) % rank_count(), step = first_step + round - 1;
        if (from < early_count_) {
          if (const auto c = chunk(from, turn)) builder->copy(Step{step}, rank(from), rank(to), *c);
        } else if (to < early_count_) {
          add_part(builder, step, from, to, turn + 1);
        }
      }
    return first_step + rank_count() - 1;
  }

 private:
  int rank_count() const { return static_cast<int>(circle_.size()); }
  std::optional<Chunk> chunk(int owner, int turn) const {
    const int number = turn * early_count_ + owner;
    return number < chunk_count_ ? std::optional(Chunk{number}) : std::nullopt;
  }
  void add_part(ScheduleBuilder* builder, int step, int late, int owner, int turn) const {
    if (const auto c = chunk(owner, turn)) builder->reduce(Step{step}, rank(late), rank(owner), *c);
  }

  int early_count_;
  int chunk_count_;
  std::vector<Rank> circle_;
};

}  // namespace

Schedule all_reduce_late_together(int rank_count, const std::vector<Rank>& late_ranks, int chunk_count) {
  check("all_reduce_late_together", rank_count, late_ranks, chunk_count);
  const std::vector<Rank> in_time = others(rank_count, late_ranks);
  const Turns turns(in_time, late_ranks, chunk_count);
  std::vector<Rank> owner;
  for (Chunk c : indices<Chunk>(chunk_count)) owner.push_back(turns.rank(turns.owner(c)));
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, std::move(owner)));
  for (Chunk c : indices<Chunk>(chunk_count))
    add_ring_reduce(&builder, in_time, static_cast<std::size_t>(turns.owner(c)), c);
  int step = turns.begin(&builder, static_cast<int>(in_time.size()) - 1);
  for (int turn = 0; turn < turns.count(); ++turn) step = turns.run(&builder, turn, step);
  return builder.finish();
}

Schedule all_reduce_late_several(int rank_count, const std::vector<Rank>& late_ranks, int chunk_count) {
  check("all_reduce_late_several", rank_count, late_ranks, chunk_count);
  if (late_ranks.size() == 1) return all_reduce_late(rank_count, late_ranks.front(), chunk_count);
  const auto table = cached_late_finish(rank_count, chunk_count);
  const FinishInJob finish{*table, late_ranks.back(), buffer_order(table->owner)};
  std::vector<Rank> owner(static_cast<std::size_t>(chunk_count));
  for (Chunk c : indices<Chunk>(chunk_count))
    owner[static_cast<std::size_t>(finish.piece(c, 0))] = finish.rank(finish.owner(c));
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, std::move(owner)));

  const std::vector<Rank> in_time = others(rank_count, late_ranks);
  Holders holders(finish, in_time);
  holders.reduce_scatter(&builder);
  int step = static_cast<int>(in_time.size()) - 1;
  for (std::size_t i = 0; i + 1 < late_ranks.size(); ++i)
    step = holders.fold_in(late_ranks[i], &builder, step);
  add_finish(&builder, finish, step);
  return builder.finish();
}

Schedule all_reduce_late_broadcast(int rank_count, Rank late_rank) {
  check_late_rank("all_reduce_late_broadcast", rank_count, late_rank);
  const std::vector<Rank> early = others(rank_count, {late_rank});
  const int early_count = rank_count - 1;
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, early));

  for (Chunk c : indices<Chunk>(early_count)) {
    const auto end = static_cast<std::size_t>(c);
    add_ring_reduce(&builder, early, end, c);
    for (int hop = 0; hop < early_count - 1; ++hop)
      builder.copy(Step{early_count - 1 + hop}, early[(end + static_cast<std::size_t>(hop)) % early.size()],
                   early[(end + static_cast<std::size_t>(hop) + 1) % early.size()], c);
  }
  // The late rank and early[0] hold the result after the exchange; then all holders double.
  int step = 2 * (early_count - 1);
  std::vector<Rank> order{late_rank};
  order.insert(order.end(), early.begin(), early.end());
  for (Chunk c : indices<Chunk>(early_count)) {
    builder.reduce(Step{step}, late_rank, early[0], c);
    builder.reduce(Step{step}, early[0], late_rank, c);
  }
  for (std::size_t holders = 2; holders < order.size(); holders *= 2) {
    ++step;
    for (std::size_t i = 0; i < holders && holders + i < order.size(); ++i)
      for (Chunk c : indices<Chunk>(early_count)) builder.copy(Step{step}, order[i], order[holders + i], c);
  }
  return builder.finish();
}

}  // namespace hemiola::algorithms
