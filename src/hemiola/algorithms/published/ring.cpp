// SPDX-License-Identifier: Apache-2.0
// Four ranks, chunk c belongs to rank c. Entries are the chunk that a rank passes on to rank + 1:
//
//   all-gather   rank 0  rank 1  rank 2  rank 3        reduce-scatter   rank 0  rank 1  rank 2  rank 3
//   step 0          0       1       2       3          step 0              3       0       1       2
//   step 1          3       0       1       2          step 1              2       3       0       1
//   step 2          2       3       0       1          step 2              1       2       3       0
//
// A reduce-scatter passes on the chunk that is one hop further behind: chunk c starts at rank c + 1 and ends,
// complete, at rank c.
#include "hemiola/algorithms/published/ring.hpp"

#include "hemiola/algorithms/papers.hpp"

namespace hemiola::algorithms {
namespace {

/// Which way round, and which of the chunks that each rank owns.
struct Lane {
  int direction;  ///< +1: to rank + 1; -1: to rank - 1
  int lane;
  int lane_count;
};

constexpr Lane kOneWay[] = {{+1, 0, 1}};
constexpr Lane kTwoWay[] = {{+1, 0, 2}, {-1, 1, 2}};

/// The rank `hops` further along the lane's direction; hops in -rank_count … rank_count.
Rank along(Rank rank, int hops, Lane lane, int rank_count) {
  return Rank{(rank + lane.direction * hops + rank_count) % rank_count};
}

Chunk chunk_of(Rank owner, Lane lane) {
  return Chunk{owner * lane.lane_count + lane.lane};
}

void add_gather_phase(ScheduleBuilder* builder, Lane lane, int first_step) {
  const int n = builder->rank_count();
  for (int t = 0; t < n - 1; ++t)
    for (Rank rank : indices<Rank>(n))
      builder->copy(Step{first_step + t}, rank, along(rank, 1, lane, n),
                    chunk_of(along(rank, -t, lane, n), lane));
}

void add_reduce_phase(ScheduleBuilder* builder, Lane lane, int first_step) {
  const int n = builder->rank_count();
  for (int t = 0; t < n - 1; ++t)
    for (Rank rank : indices<Rank>(n))
      builder->reduce(Step{first_step + t}, rank, along(rank, 1, lane, n),
                      chunk_of(along(rank, -t - 1, lane, n), lane));
}

template <std::size_t lane_count>
Schedule ring(CollectiveKind kind, int rank_count, const Lane (&lanes)[lane_count]) {
  ScheduleBuilder builder(Collective::make(kind, rank_count, rank_count * std::int64_t{lane_count}));
  const bool reduces = kind != CollectiveKind::all_gather;
  const bool gathers = kind != CollectiveKind::reduce_scatter;
  for (Lane lane : lanes) {
    if (reduces) add_reduce_phase(&builder, lane, 0);
    if (gathers) add_gather_phase(&builder, lane, reduces ? rank_count - 1 : 0);
  }
  return builder.finish();
}

/// Each phase: n-1 steps in which every rank passes on one chunk per lane.
Cost ring_cost(int phases, int lane_count, std::int64_t n) {
  const std::int64_t steps = phases * (n - 1);
  return {.step_count = steps,
          .transfer_count = steps * n * lane_count,
          .piece_count = n * lane_count,
          .sent = steps * lane_count,
          .serialized = steps * lane_count,
          .further_messages = n > 2 ? steps * (lane_count - 1) : 0};  // two ranks have one neighbour each
}

constexpr Paper kPatarasuk{"patarasuk2009", "Patarasuk, Yuan 2009"};

}  // namespace

Schedule all_gather_ring(int rank_count) {
  return ring(CollectiveKind::all_gather, rank_count, kOneWay);
}
Schedule reduce_scatter_ring(int rank_count) {
  return ring(CollectiveKind::reduce_scatter, rank_count, kOneWay);
}
Schedule all_reduce_ring(int rank_count) {
  return ring(CollectiveKind::all_reduce, rank_count, kOneWay);
}

Schedule all_gather_ring_two_way(int rank_count) {
  return ring(CollectiveKind::all_gather, rank_count, kTwoWay);
}
Schedule reduce_scatter_ring_two_way(int rank_count) {
  return ring(CollectiveKind::reduce_scatter, rank_count, kTwoWay);
}
Schedule all_reduce_ring_two_way(int rank_count) {
  return ring(CollectiveKind::all_reduce, rank_count, kTwoWay);
}

std::vector<Algorithm> ring_algorithms() {
  return {
      {.name = "all_gather_ring",
       .kind = CollectiveKind::all_gather,
       .paper = kChan,
       .idea = "Every rank passes on to rank + 1 the chunk that it received in the step before.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "n-1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "(n-1)·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return ring_cost(1, 1, n); },
       .generate = [](const Request& r) { return all_gather_ring(r.rank_count); }},
      {.name = "all_gather_ring_two_way",
       .kind = CollectiveKind::all_gather,
       .paper = kChan,
       .idea = "Half of every chunk goes round upwards while the other half goes round downwards.",
       .sizes = kAnyRankCount,
       .chunks_formula = "2n",
       .steps_formula = "n-1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "(n-1)·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return ring_cost(1, 2, n); },
       .generate = [](const Request& r) { return all_gather_ring_two_way(r.rank_count); }},
      {.name = "reduce_scatter_ring",
       .kind = CollectiveKind::reduce_scatter,
       .paper = kChan,
       .idea = "A chunk starts beyond its owner and collects every rank's part on its way round to it.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "n-1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "(n-1)·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return ring_cost(1, 1, n); },
       .generate = [](const Request& r) { return reduce_scatter_ring(r.rank_count); }},
      {.name = "reduce_scatter_ring_two_way",
       .kind = CollectiveKind::reduce_scatter,
       .paper = kChan,
       .idea =
           "Half of every chunk collects parts on its way upwards while the other half does so downwards.",
       .sizes = kAnyRankCount,
       .chunks_formula = "2n",
       .steps_formula = "n-1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "(n-1)·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return ring_cost(1, 2, n); },
       .generate = [](const Request& r) { return reduce_scatter_ring_two_way(r.rank_count); }},
      {.name = "all_reduce_ring",
       .kind = CollectiveKind::all_reduce,
       .paper = kPatarasuk,
       .idea = "Ring reduce-scatter, then ring all-gather.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "2(n-1)",
       .bytes_formula = "2(n-1)/n·N",
       .formula = "2(n-1)·α + 2(n-1)/n·N·β",
       .cost = [](int n, int) { return ring_cost(2, 1, n); },
       .generate = [](const Request& r) { return all_reduce_ring(r.rank_count); }},
      {.name = "all_reduce_ring_two_way",
       .kind = CollectiveKind::all_reduce,
       .paper = kPatarasuk,
       .idea = "A ring all-reduce upwards for one half of the buffer and downwards for the other, at once.",
       .sizes = kAnyRankCount,
       .chunks_formula = "2n",
       .steps_formula = "2(n-1)",
       .bytes_formula = "2(n-1)/n·N",
       .formula = "2(n-1)·α + 2(n-1)/n·N·β",
       .cost = [](int n, int) { return ring_cost(2, 2, n); },
       .generate = [](const Request& r) { return all_reduce_ring_two_way(r.rank_count); }},
  };
}

}  // namespace hemiola::algorithms
