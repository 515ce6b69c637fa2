// SPDX-License-Identifier: Apache-2.0
// Four ranks, root 0, three chunks. Broadcast; entries are the chunk on a hop:
//
//            0 → 1   1 → 2   2 → 3
//   step 0     0
//   step 1     1       0
//   step 2     2       1       0
//   step 3             2       1
//   step 4                     2            reduce: hops 1 → 2, 2 → 3, 3 → 0, in the same steps
#include "hemiola/algorithms/published/chain.hpp"

#include <algorithm>

namespace hemiola::algorithms {
namespace {

/// The rank that a hop starts from, 0 … rank_count-2, in a chain that begins at `first`.
Rank hop_source(Rank first, int hop, int rank_count) {
  return Rank{(first + hop) % rank_count};
}

Step step_of(int hop, int chunk) {
  return Step{hop + chunk};
}

/// Calls visit(step, src, dst, chunk) for the chain of all ranks that begins at `first`.
template <typename Visit>
void for_each_hop(int rank_count, Rank first, int chunk_count, Visit visit) {
  for (int hop = 0; hop < rank_count - 1; ++hop)
    for (int chunk = 0; chunk < chunk_count; ++chunk)
      visit(step_of(hop, chunk), hop_source(first, hop, rank_count), hop_source(first, hop + 1, rank_count),
            Chunk{chunk});
}

Cost chain_cost(int n, int chunk_count) {
  if (n == 1) return {.piece_count = chunk_count};
  const std::int64_t steps = std::int64_t{n} - 2 + chunk_count;
  return {.step_count = steps,
          .transfer_count = (std::int64_t{n} - 1) * chunk_count,
          .piece_count = chunk_count,
          .sent = chunk_count,
          .serialized = steps};
}

/// Filling the pipeline then costs at most a quarter of the time that the buffer itself needs.
int chain_chunks(int rank_count) {
  return std::max(1, 4 * (rank_count - 2));
}

constexpr Paper kVanDeGeijn{"watts1995", "Watts, van de Geijn 1995"};

}  // namespace

Schedule broadcast_chain(int rank_count, Rank root, int chunk_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, rank_count, chunk_count, root));
  for_each_hop(rank_count, root, chunk_count,
               [&](Step step, Rank src, Rank dst, Chunk chunk) { builder.copy(step, src, dst, chunk); });
  return builder.finish();
}

Schedule reduce_chain(int rank_count, Rank root, int chunk_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::reduce, rank_count, chunk_count, root));
  for_each_hop(rank_count, Rank{(root + 1) % rank_count}, chunk_count,
               [&](Step step, Rank src, Rank dst, Chunk chunk) { builder.reduce(step, src, dst, chunk); });
  return builder.finish();
}

std::vector<Algorithm> chain_algorithms() {
  return {
      {.name = "broadcast_chain",
       .kind = CollectiveKind::broadcast,
       .paper = kVanDeGeijn,
       .idea = "K chunks follow each other from the root up the ranks.",
       .sizes = kAnyRankCount,
       .chunks_formula = "K, by default max(1, 4(n-2))",
       .steps_formula = "n-2+K",
       .bytes_formula = "N",
       .formula = "(n-2+K)·(α + N/K·β)",
       .cost = chain_cost,
       .generate = [](const Request& r) { return broadcast_chain(r.rank_count, r.root, r.chunk_count); },
       .default_chunk_count = chain_chunks},
      {.name = "reduce_chain",
       .kind = CollectiveKind::reduce,
       .paper = kVanDeGeijn,
       .idea = "K chunks follow each other up the ranks to the root; each rank adds its part.",
       .sizes = kAnyRankCount,
       .chunks_formula = "K, by default max(1, 4(n-2))",
       .steps_formula = "n-2+K",
       .bytes_formula = "N",
       .formula = "(n-2+K)·(α + N/K·β)",
       .cost = chain_cost,
       .generate = [](const Request& r) { return reduce_chain(r.rank_count, r.root, r.chunk_count); },
       .default_chunk_count = chain_chunks},
  };
}

}  // namespace hemiola::algorithms
