// SPDX-License-Identifier: Apache-2.0
// Six ranks, root 0. Broadcast and scatter; the second line names the owners of the chunks that a scatter
// sends:
//
//   round 0 (distance 4)   0 → 4
//                          45
//   round 1 (distance 2)   0 → 2   (4 → 6 does not exist)
//                          23
//   round 2 (distance 1)   0 → 1   2 → 3   4 → 5
//                          1       3       5
//
// Reduce and gather run the rounds backwards, with the arrows reversed.
#include "hemiola/algorithms/published/binomial.hpp"

#include <algorithm>

#include "hemiola/algorithms/papers.hpp"

namespace hemiola::algorithms {
namespace {

/// Calls visit(step, near position, far position, round) for every edge of the tree, in the order of a
/// broadcast.
template <typename Visit>
void for_each_edge(const BinomialTree& tree, Visit visit) {
  for (int round = 0; round < tree.rounds(); ++round)
    for (int position = 0; position < tree.rank_count; position += 2 * tree.distance(round))
      if (tree.sends(position, round)) visit(position, position + tree.distance(round), round);
}

/// The step of a round when the rounds run backwards.
Step mirrored(const BinomialTree& tree, int round) {
  return Step{tree.rounds() - 1 - round};
}

int tallest_child(const BinomialTree& tree) {
  int most = 0;
  for_each_edge(tree, [&](int near, int far, int round) {
    if (near == 0) most = std::max(most, tree.subtree_end(far, round) - far);
  });
  return most;
}

Cost whole_buffer_cost(int n, std::int64_t sent) {
  const int rounds = doubling_rounds(n);
  return {
      .step_count = rounds, .transfer_count = n - 1, .piece_count = 1, .sent = sent, .serialized = rounds};
}

/// Each chunk crosses as many edges as its owner's position has bits set.
Cost parts_cost(int n, std::int64_t sent) {
  return {.step_count = doubling_rounds(n),
          .transfer_count = bits_set_below(n),
          .piece_count = n,
          .sent = sent,
          .serialized = n - 1};
}

}  // namespace

void add_binomial_scatter(ScheduleBuilder* builder, const BinomialTree& tree) {
  for_each_edge(tree, [&](int near, int far, int round) {
    for (int owner = far; owner < tree.subtree_end(far, round); ++owner)
      builder->copy(Step{round}, tree.rank_at(near), tree.rank_at(far), Chunk{tree.rank_at(owner)});
  });
}

Schedule broadcast_binomial(int rank_count, Rank root) {
  const BinomialTree tree{rank_count, root};
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, rank_count, 1, root));
  for_each_edge(tree, [&](int near, int far, int round) {
    builder.copy(Step{round}, tree.rank_at(near), tree.rank_at(far), Chunk{0});
  });
  return builder.finish();
}

Schedule reduce_binomial(int rank_count, Rank root) {
  const BinomialTree tree{rank_count, root};
  ScheduleBuilder builder(Collective::make(CollectiveKind::reduce, rank_count, 1, root));
  for_each_edge(tree, [&](int near, int far, int round) {
    builder.reduce(mirrored(tree, round), tree.rank_at(far), tree.rank_at(near), Chunk{0});
  });
  return builder.finish();
}

Schedule scatter_binomial(int rank_count, Rank root) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::scatter, rank_count, rank_count, root));
  add_binomial_scatter(&builder, {rank_count, root});
  return builder.finish();
}

Schedule gather_binomial(int rank_count, Rank root) {
  const BinomialTree tree{rank_count, root};
  ScheduleBuilder builder(Collective::make(CollectiveKind::gather, rank_count, rank_count, root));
  for_each_edge(tree, [&](int near, int far, int round) {
    for (int owner = far; owner < tree.subtree_end(far, round); ++owner)
      builder.copy(mirrored(tree, round), tree.rank_at(far), tree.rank_at(near), Chunk{tree.rank_at(owner)});
  });
  return builder.finish();
}

std::vector<Algorithm> binomial_algorithms() {
  return {
      {.name = "broadcast_binomial",
       .kind = CollectiveKind::broadcast,
       .paper = kThakur,
       .idea = "Every rank that has the buffer sends it on, in each round to a rank at half the distance.",
       .sizes = kAnyRankCount,
       .chunks_formula = "1",
       .steps_formula = "⌈log2 n⌉",
       .bytes_formula = "⌈log2 n⌉·N",
       .formula = "⌈log2 n⌉·(α + N·β)",
       .cost = [](int n, int) { return whole_buffer_cost(n, doubling_rounds(n)); },
       .generate = [](const Request& r) { return broadcast_binomial(r.rank_count, r.root); }},
      {.name = "reduce_binomial",
       .kind = CollectiveKind::reduce,
       .paper = kThakur,
       .idea = "The binomial broadcast run backwards, adding on the way to the root.",
       .sizes = kAnyRankCount,
       .chunks_formula = "1",
       .steps_formula = "⌈log2 n⌉",
       .bytes_formula = "N",
       .formula = "⌈log2 n⌉·(α + N·β)",
       .cost = [](int n, int) { return whole_buffer_cost(n, n > 1 ? 1 : 0); },
       .generate = [](const Request& r) { return reduce_binomial(r.rank_count, r.root); }},
      {.name = "scatter_binomial",
       .kind = CollectiveKind::scatter,
       .paper = kChan,
       .idea = "A rank sends a subtree all that its ranks own; in each round subtrees are half as large.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "⌈log2 n⌉",
       .bytes_formula = "(n-1)/n·N",
       .formula = "⌈log2 n⌉·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return parts_cost(n, n - 1); },
       .generate = [](const Request& r) { return scatter_binomial(r.rank_count, r.root); }},
      {.name = "gather_binomial",
       .kind = CollectiveKind::gather,
       .paper = kChan,
       .idea = "The binomial scatter run backwards.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "⌈log2 n⌉",
       .bytes_formula = "max(n - 2^(⌈log2 n⌉-1), 2^(⌈log2 n⌉-2))/n·N",
       .formula = "⌈log2 n⌉·α + (n-1)/n·N·β",
       .cost = [](int n, int) { return parts_cost(n, tallest_child({n})); },
       .generate = [](const Request& r) { return gather_binomial(r.rank_count, r.root); }},
  };
}

}  // namespace hemiola::algorithms
