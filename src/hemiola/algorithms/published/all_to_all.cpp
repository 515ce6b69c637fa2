// SPDX-License-Identifier: Apache-2.0
// Four ranks, pairwise; entries are the rank that a rank sends to. Chunk src·n + dst is src's part for dst.
//
//             rank 0   rank 1   rank 2   rank 3
//   round 1     1        0        3        2
//   round 2     2        3        0        1
//   round 3     3        2        1        0
#include "hemiola/algorithms/published/all_to_all.hpp"

#include <algorithm>
#include <bit>

namespace hemiola::algorithms {
namespace {

/// The rank that a rank sends to in a round, 1 … rank_count-1; a permutation of the ranks in every round.
Rank target(Rank rank, int round, int rank_count) {
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(rank_count));
  return Rank{power_of_two ? rank ^ round : (rank + round) % rank_count};
}

Chunk chunk_for(Rank src, Rank dst, int rank_count) {
  return Chunk{src * rank_count + dst};
}

template <typename StepOf>
Schedule exchange(int rank_count, StepOf step_of) {
  const int n = rank_count;
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_to_all, n, std::int64_t{n} * n));
  for (int round = 1; round < n; ++round)
    for (Rank src : indices<Rank>(n)) {
      const Rank dst = target(src, round, n);
      builder.copy(step_of(round), src, dst, chunk_for(src, dst, n));
    }
  return builder.finish();
}

Cost exchange_cost(std::int64_t n, std::int64_t steps) {
  return {.step_count = steps,
          .transfer_count = n * (n - 1),
          .piece_count = n,
          .sent = n - 1,
          .serialized = n - 1,
          .further_messages = n - 1 - steps};
}

}  // namespace

Schedule all_to_all_direct(int rank_count) {
  return exchange(rank_count, [](int) { return Step{0}; });
}

Schedule all_to_all_pairwise(int rank_count) {
  return exchange(rank_count, [](int round) { return Step{round - 1}; });
}

std::vector<Algorithm> all_to_all_algorithms() {
  return {
      {.name = "all_to_all_direct",
       .kind = CollectiveKind::all_to_all,
       .paper = {"cowan2023", "Cowan et al. (MSCCL) 2023"},
       .idea = "Every rank sends each other rank its part in one step.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n^2",
       .steps_formula = "1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "α + (n-1)/n·N·β",
       .cost = [](int n, int) { return exchange_cost(n, std::min(n - 1, 1)); },
       .generate = [](const Request& r) { return all_to_all_direct(r.rank_count); }},
      {.name = "all_to_all_pairwise",
       .kind = CollectiveKind::all_to_all,
       .paper = {"thakur2005", "Thakur, Rabenseifner, Gropp 2005"},
       .idea = "In each round every rank exchanges with one other: one flow a port.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n^2",
       .steps_formula = "n-1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "(n-1)·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return exchange_cost(n, n - 1); },
       .generate = [](const Request& r) { return all_to_all_pairwise(r.rank_count); }},
  };
}

}  // namespace hemiola::algorithms
