// SPDX-License-Identifier: Apache-2.0
// Five ranks, chunk c belongs to rank c. Rank 4's receives in an all-gather; all others alike, rotated:
//
//   round 0   hop 1   from 3: chunk 3                      rank 4 then holds 4 3
//   round 1   hop 2   from 2: chunks 2 1                                     4 3 2 1
//   round 2   hop 4   from 0: chunk 0 (of its 0 4 3 2)                       4 3 2 1 0
//
// What rank 0 sends in a reduce-scatter, which runs the rounds backwards: chunk 4 to 4, chunks 2 3 to 2,
// chunk 1 to 1.
#include "hemiola/algorithms/published/bruck.hpp"

#include <algorithm>

#include "hemiola/algorithms/index/binary.hpp"

namespace hemiola::algorithms {
namespace {

int hop(int round) {
  return 1 << round;
}

/// Chunks in each message of a round: all that the sender holds, but no more than the receiver lacks.
int message_chunks(int round, int rank_count) {
  return std::min(hop(round), rank_count - hop(round));
}

Rank up(Rank rank, int distance, int rank_count) {
  return Rank{(rank + distance) % rank_count};
}
Rank down(Rank rank, int distance, int rank_count) {
  return Rank{(rank - distance + rank_count) % rank_count};
}

void add_gather_phase(ScheduleBuilder* builder, int first_step) {
  const int n = builder->rank_count();
  for (int round = 0; round < doubling_rounds(n); ++round)
    for (Rank rank : indices<Rank>(n))
      for (int j = 0; j < message_chunks(round, n); ++j)
        builder->copy(Step{first_step + round}, rank, up(rank, hop(round), n), Chunk{down(rank, j, n)});
}

/// The gather phase mirrored in time and in the order of the ranks, so that data still travel up.
void add_reduce_phase(ScheduleBuilder* builder) {
  const int n = builder->rank_count();
  const int last = doubling_rounds(n) - 1;
  for (int round = 0; round <= last; ++round)
    for (Rank rank : indices<Rank>(n)) {
      const Rank dst = up(rank, hop(round), n);
      for (int j = 0; j < message_chunks(round, n); ++j)
        builder->reduce(Step{last - round}, rank, dst, Chunk{up(dst, j, n)});
    }
}

Cost phases_cost(int phases, int n) {
  const std::int64_t sent = phases * (std::int64_t{n} - 1);
  return {.step_count = phases * doubling_rounds(n),
          .transfer_count = sent * n,
          .piece_count = n,
          .sent = sent,
          .serialized = sent};
}

/// For each distance 0 … n-1 a rank holds exactly one chunk that travels it.
Cost all_to_all_cost(int n) {
  return {.step_count = doubling_rounds(n),
          .transfer_count = bits_set_below(n) * n,
          .piece_count = n,
          .sent = bits_set_below(n),
          .serialized = bits_set_below(n)};
}

constexpr Paper kBruck{"bruck1997", "Bruck, Ho, Kipnis, Upfal, Weathersby 1997"};
constexpr Paper kTraffReduce{"traff2024reduce", "Träff 2024"};

}  // namespace

Schedule all_gather_bruck(int rank_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_gather, rank_count, rank_count));
  add_gather_phase(&builder, 0);
  return builder.finish();
}

Schedule reduce_scatter_bruck(int rank_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::reduce_scatter, rank_count, rank_count));
  add_reduce_phase(&builder);
  return builder.finish();
}

Schedule all_reduce_bruck(int rank_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_reduce, rank_count, rank_count));
  add_reduce_phase(&builder);
  add_gather_phase(&builder, doubling_rounds(rank_count));
  return builder.finish();
}

Schedule all_to_all_bruck(int rank_count) {
  const int n = rank_count;
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_to_all, n, std::int64_t{n} * n));
  for (int round = 0; round < doubling_rounds(n); ++round)
    for (Rank src : indices<Rank>(n))
      for (int distance = 0; distance < n; ++distance) {
        if ((distance & hop(round)) == 0) continue;
        const Rank holder = up(src, distance % hop(round), n);
        builder.copy(Step{round}, holder, up(holder, hop(round), n), Chunk{src * n + up(src, distance, n)});
      }
  return builder.finish();
}

std::vector<Algorithm> bruck_algorithms() {
  return {
      {.name = "all_gather_bruck",
       .kind = CollectiveKind::all_gather,
       .paper = kBruck,
       .idea = "In round k every rank sends its chunks to the rank 2^k up, as far as that rank lacks them.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "⌈log2 n⌉",
       .bytes_formula = "(n-1)/n·N",
       .formula = "⌈log2 n⌉·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return phases_cost(1, n); },
       .generate = [](const Request& r) { return all_gather_bruck(r.rank_count); }},
      {.name = "reduce_scatter_bruck",
       .kind = CollectiveKind::reduce_scatter,
       .paper = kTraffReduce,
       .idea = "Bruck's all-gather run backwards, adding on the way to the owners.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "⌈log2 n⌉",
       .bytes_formula = "(n-1)/n·N",
       .formula = "⌈log2 n⌉·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return phases_cost(1, n); },
       .generate = [](const Request& r) { return reduce_scatter_bruck(r.rank_count); }},
      {.name = "all_reduce_bruck",
       .kind = CollectiveKind::all_reduce,
       .paper = kTraffReduce,
       .idea = "Bruck's all-gather run backwards, then forwards: logarithmic and bandwidth optimal for any "
               "rank count.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "2⌈log2 n⌉",
       .bytes_formula = "2(n-1)/n·N",
       .formula = "2⌈log2 n⌉·α + 2(n-1)/n·N·β",
       .cost = [](int n, int) { return phases_cost(2, n); },
       .generate = [](const Request& r) { return all_reduce_bruck(r.rank_count); }},
      {.name = "all_to_all_bruck",
       .kind = CollectiveKind::all_to_all,
       .paper = kBruck,
       .idea = "A chunk travels j ranks up in hops of the binary digits of j, many chunks in each message.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n^2",
       .steps_formula = "⌈log2 n⌉",
       .bytes_formula = "B/n·N",
       .formula = "⌈log2 n⌉·α + B/n·N·β",
       .cost = [](int n, int) { return all_to_all_cost(n); },
       .generate = [](const Request& r) { return all_to_all_bruck(r.rank_count); }},
  };
}

}  // namespace hemiola::algorithms
