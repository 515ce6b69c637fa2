// SPDX-License-Identifier: Apache-2.0
// Four ranks, chunk c belongs to rank c. All-gather; entries are "chunks sent → to rank":
//
//             rank 0     rank 1     rank 2     rank 3
//   round 0   0 → 1      1 → 0      2 → 3      3 → 2
//   round 1   01 → 2     01 → 3     23 → 0     23 → 1
//
// Halving runs the rounds backwards and sends the chunks that the partner's side owns. With six ranks the
// core is ranks 1, 3, 4, 5; ranks 0 and 2 are folded into 1 and 3.
#include "hemiola/algorithms/published/recursive.hpp"

#include <algorithm>
#include <bit>

#include "hemiola/algorithms/papers.hpp"

namespace hemiola::algorithms {

PowerOfTwoCore::PowerOfTwoCore(int rank_count)
    : size(static_cast<int>(std::bit_floor(static_cast<unsigned>(rank_count)))),
      rounds(std::countr_zero(static_cast<unsigned>(size))),
      folded_count(rank_count - size) {}

Rank PowerOfTwoCore::rank_of(int member) const {
  return Rank{member < folded_count ? 2 * member + 1 : member + folded_count};
}

int PowerOfTwoCore::chunks_below(int member) const {
  return member + std::min(member, folded_count);
}

namespace {

Rank folded_rank(int pair) {
  return Rank{2 * pair};
}

/// A run of chunks [begin, end).
struct Chunks {
  int begin;
  int end;
};

/// The chunks that a member holds before an all-gather round, and owns after the same round of a
/// reduce-scatter.
Chunks block_of(const PowerOfTwoCore& core, int member, int round) {
  const int first = PowerOfTwoCore::block_begin(member, round);
  return {core.chunks_below(first), core.chunks_below(first + (1 << round))};
}

/// Runs the rounds of an all-gather within the core; `chunks(member, round)` are a member's sends.
template <typename ChunksOf>
void add_doubling(ScheduleBuilder* builder, const PowerOfTwoCore& core, int first_step, ChunksOf chunks) {
  for (int round = 0; round < core.rounds; ++round)
    for (int member = 0; member < core.size; ++member) {
      const Rank dst = core.rank_of(PowerOfTwoCore::partner(member, round));
      const Chunks sent = chunks(member, round);
      for (int c = sent.begin; c < sent.end; ++c)
        builder->copy(Step{first_step + round}, core.rank_of(member), dst, Chunk{c});
    }
}

/// Runs the rounds of a reduce-scatter within the core, largest distance first: a member sends its partner
/// the chunks that the partner would send it in the same round of the all-gather.
template <typename ChunksOf>
void add_halving(ScheduleBuilder* builder, const PowerOfTwoCore& core, int first_step, ChunksOf chunks) {
  for (int round = 0; round < core.rounds; ++round)
    for (int member = 0; member < core.size; ++member) {
      const int partner = PowerOfTwoCore::partner(member, round);
      const Chunks sent = chunks(partner, round);
      for (int c = sent.begin; c < sent.end; ++c)
        builder->reduce(Step{first_step + core.rounds - 1 - round}, core.rank_of(member),
                        core.rank_of(partner), Chunk{c});
    }
}

int fold_steps(const PowerOfTwoCore& core) {
  return core.folded_count > 0 ? 1 : 0;
}

void add_fold(ScheduleBuilder* builder, const PowerOfTwoCore& core) {
  for (int pair = 0; pair < core.folded_count; ++pair)
    for (Chunk chunk : indices<Chunk>(builder->collective().chunk_count()))
      builder->reduce(Step{0}, folded_rank(pair), core.rank_of(pair), chunk);
}

void add_unfold(ScheduleBuilder* builder, const PowerOfTwoCore& core, int step) {
  for (int pair = 0; pair < core.folded_count; ++pair)
    for (Chunk chunk : indices<Chunk>(builder->collective().chunk_count()))
      builder->copy(Step{step}, core.rank_of(pair), folded_rank(pair), chunk);
}

/// Chunks of the fullest block of 2^round members, summed over the rounds; a chunk per rank.
std::int64_t doubled_chunks(const PowerOfTwoCore& core) {
  std::int64_t sum = 0;
  for (int round = 0; round < core.rounds; ++round) sum += core.chunks_below(1 << round);
  return sum;
}

/// All transfers of the doubling rounds: in each, every member receives its partner's block, and each block
/// is held by as many members as it has.
std::int64_t doubling_transfers(const PowerOfTwoCore& core, int rank_count) {
  std::int64_t sum = 0;
  for (int round = 0; round < core.rounds; ++round) sum += (std::int64_t{1} << round) * rank_count;
  return sum;
}

Cost gather_cost(int n) {
  const PowerOfTwoCore core(n);
  const std::int64_t folds = core.folded_count;
  const std::int64_t unfolded = folds > 0 ? n - 1 : 0;
  return {.step_count = core.rounds + 2 * fold_steps(core),
          .transfer_count = doubling_transfers(core, n) + folds * n,
          .piece_count = n,
          .sent = doubled_chunks(core) + unfolded,
          .serialized = fold_steps(core) + doubled_chunks(core) + unfolded};
}

/// The all-gather backwards: a rank receives there the chunks that it sends here, each but its own once.
Cost scatter_cost(int n) {
  Cost cost = gather_cost(n);
  cost.sent = n - 1;
  return cost;
}

Cost whole_buffer_cost(int n) {
  const PowerOfTwoCore core(n);
  return {.step_count = core.rounds + 2 * fold_steps(core),
          .transfer_count = std::int64_t{core.rounds} * core.size + std::int64_t{2} * core.folded_count,
          .piece_count = 1,
          .sent = core.rounds + fold_steps(core),
          .serialized = core.rounds + 2 * fold_steps(core)};
}

Cost halving_doubling_cost(int n) {
  const PowerOfTwoCore core(n);
  const std::int64_t size = core.size;
  return {.step_count = 2 * core.rounds + 2 * fold_steps(core),
          .transfer_count = 2 * size * (size - 1) + 2 * core.folded_count * size,
          .piece_count = size,
          .sent = 2 * (size - 1) + fold_steps(core) * size,
          .serialized = 2 * (size - 1) + 2 * fold_steps(core) * size};
}

constexpr Paper kRabenseifner{"rabenseifner2004", "Rabenseifner 2004"};

}  // namespace

Schedule all_gather_recursive_doubling(int rank_count) {
  const PowerOfTwoCore core(rank_count);
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_gather, rank_count, rank_count));
  for (int pair = 0; pair < core.folded_count; ++pair)
    builder.copy(Step{0}, folded_rank(pair), core.rank_of(pair), Chunk{folded_rank(pair)});
  add_doubling(&builder, core, fold_steps(core),
               [&](int member, int round) { return block_of(core, member, round); });
  for (int pair = 0; pair < core.folded_count; ++pair)
    for (Chunk chunk : indices<Chunk>(rank_count))
      if (chunk != folded_rank(pair))
        builder.copy(Step{fold_steps(core) + core.rounds}, core.rank_of(pair), folded_rank(pair), chunk);
  return builder.finish();
}

Schedule reduce_scatter_recursive_halving(int rank_count) {
  const PowerOfTwoCore core(rank_count);
  ScheduleBuilder builder(Collective::make(CollectiveKind::reduce_scatter, rank_count, rank_count));
  for (int pair = 0; pair < core.folded_count; ++pair)
    for (Chunk chunk : indices<Chunk>(rank_count))
      if (chunk != folded_rank(pair)) builder.reduce(Step{0}, folded_rank(pair), core.rank_of(pair), chunk);
  add_halving(&builder, core, fold_steps(core),
              [&](int member, int round) { return block_of(core, member, round); });
  for (int pair = 0; pair < core.folded_count; ++pair)
    builder.reduce(Step{fold_steps(core) + core.rounds}, core.rank_of(pair), folded_rank(pair),
                   Chunk{folded_rank(pair)});
  return builder.finish();
}

Schedule all_reduce_recursive_doubling(int rank_count) {
  const PowerOfTwoCore core(rank_count);
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, {core.rank_of(0)}));
  add_fold(&builder, core);
  for (int round = 0; round < core.rounds; ++round)
    for (int member = 0; member < core.size; ++member)
      builder.reduce(Step{fold_steps(core) + round}, core.rank_of(member),
                     core.rank_of(PowerOfTwoCore::partner(member, round)), Chunk{0});
  add_unfold(&builder, core, fold_steps(core) + core.rounds);
  return builder.finish();
}

Schedule all_reduce_recursive_halving_doubling(int rank_count) {
  const PowerOfTwoCore core(rank_count);
  std::vector<Rank> owner;
  for (int member = 0; member < core.size; ++member) owner.push_back(core.rank_of(member));
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, std::move(owner)));
  const auto block = [](int member, int round) {
    const int first = PowerOfTwoCore::block_begin(member, round);
    return Chunks{first, first + (1 << round)};
  };
  add_fold(&builder, core);
  add_halving(&builder, core, fold_steps(core), block);
  add_doubling(&builder, core, fold_steps(core) + core.rounds, block);
  add_unfold(&builder, core, fold_steps(core) + 2 * core.rounds);
  return builder.finish();
}

std::vector<Algorithm> recursive_algorithms() {
  return {
      {.name = "all_gather_recursive_doubling",
       .kind = CollectiveKind::all_gather,
       .paper = kThakur,
       .idea = "In round k ranks at distance 2^k exchange all they have.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "log2 p + 2[f>0]",
       .bytes_formula = "(p-1 + S + (n-1)[f>0])/n·N",
       .formula = "(log2 p + 2[f>0])·α + (p-1 + S + n[f>0])/n·N·β",
       .cost = [](int n, int) { return gather_cost(n); },
       .generate = [](const Request& r) { return all_gather_recursive_doubling(r.rank_count); }},
      {.name = "reduce_scatter_recursive_halving",
       .kind = CollectiveKind::reduce_scatter,
       .paper = kThakur,
       .idea = "Ranks at half the distance of the round before hand each other the half that the other side "
               "owns.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "log2 p + 2[f>0]",
       .bytes_formula = "(n-1)/n·N",
       .formula = "(log2 p + 2[f>0])·α + (p-1 + S + n[f>0])/n·N·β",
       .cost = [](int n, int) { return scatter_cost(n); },
       .generate = [](const Request& r) { return reduce_scatter_recursive_halving(r.rank_count); }},
      {.name = "all_reduce_recursive_doubling",
       .kind = CollectiveKind::all_reduce,
       .paper = kThakur,
       .idea = "In round k ranks at distance 2^k exchange and add their whole buffers: fewest steps.",
       .sizes = kAnyRankCount,
       .chunks_formula = "1",
       .steps_formula = "log2 p + 2[f>0]",
       .bytes_formula = "(log2 p + [f>0])·N",
       .formula = "(log2 p + 2[f>0])·(α + N·β)",
       .cost = [](int n, int) { return whole_buffer_cost(n); },
       .generate = [](const Request& r) { return all_reduce_recursive_doubling(r.rank_count); }},
      {.name = "all_reduce_recursive_halving_doubling",
       .kind = CollectiveKind::all_reduce,
       .paper = kRabenseifner,
       .idea = "Recursive halving to reduce-scatter, then recursive doubling to all-gather.",
       .sizes = kAnyRankCount,
       .chunks_formula = "p",
       .steps_formula = "2·log2 p + 2[f>0]",
       .bytes_formula = "(2(p-1)/p + [f>0])·N",
       .formula = "(2·log2 p + 2[f>0])·α + (2(p-1)/p + 2[f>0])·N·β",
       .cost = [](int n, int) { return halving_doubling_cost(n); },
       .generate = [](const Request& r) { return all_reduce_recursive_halving_doubling(r.rank_count); }},
  };
}

}  // namespace hemiola::algorithms
