// SPDX-License-Identifier: Apache-2.0
// Four ranks, root 0; entries are the chunks that a rank holds after the step:
//
//                      rank 0   rank 1   rank 2   rank 3
//   scatter   step 0    0123      -        23       -
//             step 1    0123      1        23       3
//   ring      step 2    0123     01       123      23
//             step 3    0123     013     0123     123
//             step 4    0123     0123    0123     0123
#include "hemiola/algorithms/published/scatter_all_gather.hpp"

#include "hemiola/algorithms/published/binomial.hpp"

namespace hemiola::algorithms {
namespace {

/// How many consecutive chunks a position holds after the scatter, its own first.
int held_after_scatter(int position, int rank_count) {
  const int subtree = position == 0 ? rank_count : position & -position;
  return std::min(subtree, rank_count - position);
}

/// The position whose chunk arrives at `position` in a step of the ring.
int arriving(int position, int ring_step, int rank_count) {
  return (position - 1 - ring_step + rank_count) % rank_count;
}

bool holds(int position, int chunk_position, int rank_count) {
  return chunk_position >= position && chunk_position < position + held_after_scatter(position, rank_count);
}

void add_ring(ScheduleBuilder* builder, const BinomialTree& tree, int first_step) {
  const int n = tree.rank_count;
  for (int t = 0; t < n - 1; ++t)
    for (int position = 1; position < n; ++position) {
      const int chunk_position = arriving(position, t, n);
      if (holds(position, chunk_position, n)) continue;
      builder->copy(Step{first_step + t}, tree.rank_at(position - 1), tree.rank_at(position),
                    Chunk{tree.rank_at(chunk_position)});
    }
}

/// The ring saves exactly the transfers that the scatter needed. The root sends all but one chunk twice.
Cost cost_of(int n) {
  const std::int64_t others = n - 1;
  return {.step_count = doubling_rounds(n) + others,
          .transfer_count = n * others,
          .piece_count = n,
          .sent = 2 * others,
          .serialized = 2 * others};
}

}  // namespace

Schedule broadcast_scatter_all_gather(int rank_count, Rank root) {
  const BinomialTree tree{rank_count, root};
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, rank_count, rank_count, root));
  add_binomial_scatter(&builder, tree);
  add_ring(&builder, tree, tree.rounds());
  return builder.finish();
}

std::vector<Algorithm> scatter_all_gather_algorithms() {
  return {{.name = "broadcast_scatter_all_gather",
           .kind = CollectiveKind::broadcast,
           .paper = {"barnett1994", "Barnett, Gupta, Payne, Shuler, van de Geijn, Watts 1994"},
           .idea = "Binomial scatter, then ring all-gather.",
           .sizes = kAnyRankCount,
           .chunks_formula = "n",
           .steps_formula = "⌈log2 n⌉+n-1",
           .bytes_formula = "2(n-1)/n·N",
           .formula = "(⌈log2 n⌉+n-1)·α + 2(n-1)/n·N·β",
           .cost = [](int n, int) { return cost_of(n); },
           .generate = [](const Request& r) { return broadcast_scatter_all_gather(r.rank_count, r.root); }}};
}

}  // namespace hemiola::algorithms
