// SPDX-License-Identifier: Apache-2.0
// Four ranks, chunk c belongs to rank c. Rounds; entries are the rank that a rank sends to: its own chunk in
// an all-gather, the receiver's in a reduce-scatter. The plain form puts all rounds in one step.
//
//             rank 0  rank 1  rank 2  rank 3
//   round 1      1       2       3       0
//   round 2      2       3       0       1
//   round 3      3       0       1       2
#include "hemiola/algorithms/published/direct.hpp"

#include "hemiola/algorithms/papers.hpp"

namespace hemiola::algorithms {
namespace {

enum class Form { one_step, rounds };

/// The rank that `rank` sends to in a round, 1 … rank_count-1: no two ranks send to the same one.
Rank target_above(Rank rank, int round, int rank_count) {
  return Rank{(rank + round) % rank_count};
}

int phase_steps(int rank_count, Form form) {
  if (rank_count == 1) return 0;
  return form == Form::one_step ? 1 : rank_count - 1;
}

int step_of(int round, Form form) {
  return form == Form::one_step ? 0 : round - 1;
}

void add_gather_phase(ScheduleBuilder* builder, Form form, int first_step) {
  const int n = builder->rank_count();
  for (int round = 1; round < n; ++round)
    for (Rank rank : indices<Rank>(n))
      builder->copy(Step{first_step + step_of(round, form)}, rank, target_above(rank, round, n), Chunk{rank});
}

void add_reduce_phase(ScheduleBuilder* builder, Form form) {
  const int n = builder->rank_count();
  for (int round = 1; round < n; ++round)
    for (Rank rank : indices<Rank>(n)) {
      const Rank owner = target_above(rank, round, n);
      builder->reduce(Step{step_of(round, form)}, rank, owner, Chunk{owner});
    }
}

Schedule direct(CollectiveKind kind, int rank_count, Form form) {
  ScheduleBuilder builder(Collective::make(kind, rank_count, rank_count));
  const bool reduces = kind != CollectiveKind::all_gather;
  const bool gathers = kind != CollectiveKind::reduce_scatter;
  if (reduces) add_reduce_phase(&builder, form);
  if (gathers) add_gather_phase(&builder, form, reduces ? phase_steps(rank_count, form) : 0);
  return builder.finish();
}

/// Each phase: every rank sends one chunk to each of the others.
Cost direct_cost(int phases, Form form, int n) {
  const std::int64_t sent = phases * (n - std::int64_t{1});
  return {.step_count = phases * phase_steps(n, form),
          .transfer_count = sent * n,
          .piece_count = n,
          .sent = sent,
          .serialized = sent,
          .further_messages = sent - phases * phase_steps(n, form)};
}

constexpr Paper kAllPairs{"cowan2023", "Cowan et al. (MSCCL) 2023, allpairs"};

}  // namespace

Schedule all_gather_direct(int rank_count) {
  return direct(CollectiveKind::all_gather, rank_count, Form::one_step);
}
Schedule reduce_scatter_direct(int rank_count) {
  return direct(CollectiveKind::reduce_scatter, rank_count, Form::one_step);
}
Schedule all_reduce_direct(int rank_count) {
  return direct(CollectiveKind::all_reduce, rank_count, Form::one_step);
}

Schedule all_gather_direct_rounds(int rank_count) {
  return direct(CollectiveKind::all_gather, rank_count, Form::rounds);
}
Schedule reduce_scatter_direct_rounds(int rank_count) {
  return direct(CollectiveKind::reduce_scatter, rank_count, Form::rounds);
}
Schedule all_reduce_direct_rounds(int rank_count) {
  return direct(CollectiveKind::all_reduce, rank_count, Form::rounds);
}

std::vector<Algorithm> direct_algorithms() {
  return {
      {.name = "all_gather_direct",
       .kind = CollectiveKind::all_gather,
       .paper = kAllPairs,
       .idea = "Every rank sends its chunk to all others in one step.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "α + (n-1)/n·N·β",
       .cost = [](int n, int) { return direct_cost(1, Form::one_step, n); },
       .generate = [](const Request& r) { return all_gather_direct(r.rank_count); }},
      {.name = "all_gather_direct_rounds",
       .kind = CollectiveKind::all_gather,
       .paper = kThakur,
       .idea = "In round t every rank sends its chunk to the rank t places up: one flow a port.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "n-1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "(n-1)·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return direct_cost(1, Form::rounds, n); },
       .generate = [](const Request& r) { return all_gather_direct_rounds(r.rank_count); }},
      {.name = "reduce_scatter_direct",
       .kind = CollectiveKind::reduce_scatter,
       .paper = kAllPairs,
       .idea = "Every rank sends each owner its part in one step.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "α + (n-1)/n·N·β",
       .cost = [](int n, int) { return direct_cost(1, Form::one_step, n); },
       .generate = [](const Request& r) { return reduce_scatter_direct(r.rank_count); }},
      {.name = "reduce_scatter_direct_rounds",
       .kind = CollectiveKind::reduce_scatter,
       .paper = kThakur,
       .idea = "In round t every rank sends its part to the owner t places up: one flow a port.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "n-1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "(n-1)·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return direct_cost(1, Form::rounds, n); },
       .generate = [](const Request& r) { return reduce_scatter_direct_rounds(r.rank_count); }},
      {.name = "all_reduce_direct",
       .kind = CollectiveKind::all_reduce,
       .paper = kAllPairs,
       .idea = "Every rank reduces the chunk it owns, then hands it to all others: two steps.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "2",
       .bytes_formula = "2(n-1)/n·N",
       .formula = "2α + 2(n-1)/n·N·β",
       .cost = [](int n, int) { return direct_cost(2, Form::one_step, n); },
       .generate = [](const Request& r) { return all_reduce_direct(r.rank_count); }},
      {.name = "all_reduce_direct_rounds",
       .kind = CollectiveKind::all_reduce,
       .paper = kThakur,
       .idea = "The direct all-reduce with one flow a port, in 2(n-1) rounds.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "2(n-1)",
       .bytes_formula = "2(n-1)/n·N",
       .formula = "2(n-1)·α + 2(n-1)/n·N·β",
       .cost = [](int n, int) { return direct_cost(2, Form::rounds, n); },
       .generate = [](const Request& r) { return all_reduce_direct_rounds(r.rank_count); }},
  };
}

}  // namespace hemiola::algorithms
