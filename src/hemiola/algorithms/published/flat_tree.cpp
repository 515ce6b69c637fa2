// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/published/flat_tree.hpp"

#include <algorithm>

#include "hemiola/algorithms/papers.hpp"

namespace hemiola::algorithms {
namespace {

/// One transfer between the root and every other rank. With parts, chunk r is rank r's; otherwise there is
/// one chunk.
Schedule flat_tree(CollectiveKind kind, int rank_count, Rank root) {
  const bool has_parts = kind == CollectiveKind::scatter || kind == CollectiveKind::gather;
  const bool to_root = kind == CollectiveKind::reduce || kind == CollectiveKind::gather;
  ScheduleBuilder builder(Collective::make(kind, rank_count, has_parts ? rank_count : 1, root));
  for (Rank rank : indices<Rank>(rank_count)) {
    if (rank == root) continue;
    builder.add({.step = Step{0},
                 .src = to_root ? rank : root,
                 .dst = to_root ? root : rank,
                 .chunk = has_parts ? Chunk{rank} : Chunk{0},
                 .reduce = kind == CollectiveKind::reduce});
  }
  return builder.finish();
}

Cost flat_cost(int n, int piece_count, int sent) {
  return {.step_count = std::min(n - 1, 1),
          .transfer_count = n - 1,
          .piece_count = piece_count,
          .sent = std::min(n - 1, sent),
          .serialized = n - 1,
          .further_messages = std::max(n - 2, 0)};
}

}  // namespace

Schedule broadcast_direct(int rank_count, Rank root) {
  return flat_tree(CollectiveKind::broadcast, rank_count, root);
}
Schedule reduce_direct(int rank_count, Rank root) {
  return flat_tree(CollectiveKind::reduce, rank_count, root);
}
Schedule scatter_direct(int rank_count, Rank root) {
  return flat_tree(CollectiveKind::scatter, rank_count, root);
}
Schedule gather_direct(int rank_count, Rank root) {
  return flat_tree(CollectiveKind::gather, rank_count, root);
}

std::vector<Algorithm> flat_tree_algorithms() {
  return {
      {.name = "broadcast_direct",
       .kind = CollectiveKind::broadcast,
       .paper = kChan,
       .idea = "The root sends the buffer to every other rank itself.",
       .sizes = kAnyRankCount,
       .chunks_formula = "1",
       .steps_formula = "1",
       .bytes_formula = "(n-1)·N",
       .formula = "α + (n-1)·N·β",
       .cost = [](int n, int) { return flat_cost(n, 1, n - 1); },
       .generate = [](const Request& r) { return broadcast_direct(r.rank_count, r.root); }},
      {.name = "reduce_direct",
       .kind = CollectiveKind::reduce,
       .paper = kChan,
       .idea = "Every rank sends its buffer to the root, which adds them in the order of the ranks.",
       .sizes = kAnyRankCount,
       .chunks_formula = "1",
       .steps_formula = "1",
       .bytes_formula = "N",
       .formula = "α + (n-1)·N·β",
       .cost = [](int n, int) { return flat_cost(n, 1, 1); },
       .generate = [](const Request& r) { return reduce_direct(r.rank_count, r.root); }},
      {.name = "scatter_direct",
       .kind = CollectiveKind::scatter,
       .paper = kChan,
       .idea = "The root sends every rank its part.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "1",
       .bytes_formula = "(n-1)/n·N",
       .formula = "α + (n-1)/n·N·β",
       .cost = [](int n, int) { return flat_cost(n, n, n - 1); },
       .generate = [](const Request& r) { return scatter_direct(r.rank_count, r.root); }},
      {.name = "gather_direct",
       .kind = CollectiveKind::gather,
       .paper = kChan,
       .idea = "Every rank sends its part to the root.",
       .sizes = kAnyRankCount,
       .chunks_formula = "n",
       .steps_formula = "1",
       .bytes_formula = "N/n",
       .formula = "α + (n-1)/n·N·β",
       .cost = [](int n, int) { return flat_cost(n, n, 1); },
       .generate = [](const Request& r) { return gather_direct(r.rank_count, r.root); }},
  };
}

}  // namespace hemiola::algorithms
