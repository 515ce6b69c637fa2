// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/late/late_broadcast.hpp"

#include <string>

#include "hemiola/algorithms/late/early_reduce.hpp"
#include "hemiola/algorithms/papers.hpp"

namespace hemiola::algorithms {
namespace {

constexpr const char* kDoc =
    R"(All-reduce with one late rank by StragglAR's late-aware baseline.

The early ranks all-reduce among themselves; then the late rank exchanges the whole buffer with one of them, and both
spread the result along a binomial tree.

Parameters
----------
rank_count : int >= 3.
late_rank : int, 0 … rank_count-1.

Returns
-------
Schedule

Raises
------
ArgumentError
    if an argument is outside its range.

Notes
-----
2(n-2) steps before arrival, ceil(log2 n) rounds of the whole buffer after it [StragglAR, §4.1].)";

}  // namespace

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

std::vector<Algorithm> late_broadcast_algorithms() {
  return {
      {.name = "all_reduce_late_broadcast",
       .kind = CollectiveKind::all_reduce,
       .paper = kStragglar,
       .idea =
           "The early ranks all-reduce while they wait; the late rank exchanges the whole buffer with one "
           "of them, and a binomial tree spreads it.",
       .sizes = "any n ≥ 3",
       .chunks_formula = "n-1",
       .steps_formula = "⌈log2 n⌉ after arrival",
       .bytes_formula = "",
       .formula = "⌈log2 n⌉·(α + N·β) after arrival",
       .needs = Needs::late,
       .functions = {function("all_reduce_late_broadcast", {required("rank_count"), required("late_rank")},
                              kDoc,
                              [](int rank_count, int late_rank) {
                                return all_reduce_late_broadcast(rank_count, Rank{late_rank});
                              })},
       .why_not = [](const Task& task) { return too_few_ranks(task, 3); }}};
}

}  // namespace hemiola::algorithms
