// SPDX-License-Identifier: Apache-2.0
// Four ranks, root 0, three chunks; entries are "source → destination: chunk". Ranks send 1 up in even and 2
// up in odd steps:
//
//   step 0   0 → 1: 0
//   step 1   0 → 2: 1   1 → 3: 0
//   step 2   0 → 1: 2   1 → 2: 0   2 → 3: 1
//   step 3   0 → 2: 2   1 → 3: 2   3 → 1: 1
#include "hemiola/algorithms/published/circulant_pipeline.hpp"

#include <algorithm>

#include "hemiola/algorithms/index/binary.hpp"
#include "hemiola/algorithms/index/circulant.hpp"
#include "hemiola/algorithms/papers.hpp"

namespace hemiola::algorithms {
namespace {

int pipeline_steps(int rank_count, int chunk_count) {
  return rank_count == 1 ? 0 : chunk_count - 1 + doubling_rounds(rank_count);
}

/// Rounds left out of the first phase, so that the last one is whole.
int skipped_rounds(int phase_rounds, int chunk_count) {
  return (phase_rounds - (chunk_count - 1) % phase_rounds) % phase_rounds;
}

/// Calls visit(step, source, role, chunk) for every transfer of a broadcast; a role is a rank counted from the
/// root. A phase of ⌈log2 n⌉ rounds brings every role as many chunks, of which the last one may come again:
/// those transfers are left out, and with them the ones before the first chunk.
template <typename Visit>
void for_each_transfer(int rank_count, int chunk_count, Visit visit) {
  if (rank_count == 1) return;
  const Circulant circulant(rank_count);
  const int phase = circulant.phase_rounds();
  const int skipped = skipped_rounds(phase, chunk_count);
  const int last = chunk_count - 1;
  std::vector<bool> has_last(static_cast<std::size_t>(rank_count));
  for (int step = 0; step < pipeline_steps(rank_count, chunk_count); ++step) {
    const int round = step + skipped;
    const int first_new = round / phase * phase - skipped;
    for (int role = 1; role < rank_count; ++role) {
      const int chunk = std::min(circulant.received_block(role, round % phase) + first_new, last);
      if (chunk < 0 || (chunk == last && has_last[static_cast<std::size_t>(role)])) continue;
      if (chunk == last) has_last[static_cast<std::size_t>(role)] = true;
      visit(step, circulant.source(role, round % phase), role, Chunk{chunk});
    }
  }
}

Rank rank_of_role(int role, Rank root, int rank_count) {
  return Rank{(role + root) % rank_count};
}

/// In a broadcast the root sends in every step; in a reduce the others send every chunk once.
Cost pipeline_cost(int n, int chunk_count, std::int64_t sent) {
  return {.step_count = pipeline_steps(n, chunk_count),
          .transfer_count = (std::int64_t{n} - 1) * chunk_count,
          .piece_count = chunk_count,
          .sent = n == 1 ? 0 : sent,
          .serialized = pipeline_steps(n, chunk_count)};
}

/// Filling the pipeline then costs at most a quarter of the time that the buffer itself needs.
int pipeline_chunks(int rank_count) {
  return std::max(1, 4 * (doubling_rounds(rank_count) - 1));
}

}  // namespace

Schedule broadcast_circulant(int rank_count, Rank root, int chunk_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, rank_count, chunk_count, root));
  for_each_transfer(rank_count, chunk_count, [&](int step, int source, int role, Chunk chunk) {
    builder.copy(Step{step}, rank_of_role(source, root, rank_count), rank_of_role(role, root, rank_count),
                 chunk);
  });
  return builder.finish();
}

Schedule reduce_circulant(int rank_count, Rank root, int chunk_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::reduce, rank_count, chunk_count, root));
  const int last_step = pipeline_steps(rank_count, chunk_count) - 1;
  for_each_transfer(rank_count, chunk_count, [&](int step, int source, int role, Chunk chunk) {
    const Chunk mirrored{chunk_count - 1 - chunk};
    builder.reduce(Step{last_step - step}, rank_of_role(role, root, rank_count),
                   rank_of_role(source, root, rank_count), mirrored);
  });
  return builder.finish();
}

std::vector<Algorithm> circulant_pipeline_algorithms() {
  return {
      {.name = "broadcast_circulant",
       .kind = CollectiveKind::broadcast,
       .paper = kTraff,
       .idea =
           "K chunks reach everybody in the fewest possible steps; distances repeat every ⌈log2 n⌉ steps.",
       .sizes = kAnyRankCount,
       .chunks_formula = "K, by default max(1, 4(⌈log2 n⌉-1))",
       .steps_formula = "⌈log2 n⌉-1+K",
       .bytes_formula = "(⌈log2 n⌉-1+K)/K·N",
       .formula = "(⌈log2 n⌉-1+K)·(α + N/K·β)",
       .cost = [](int n, int chunks) { return pipeline_cost(n, chunks, pipeline_steps(n, chunks)); },
       .generate = [](const Request& r) { return broadcast_circulant(r.rank_count, r.root, r.chunk_count); },
       .default_chunk_count = pipeline_chunks},
      {.name = "reduce_circulant",
       .kind = CollectiveKind::reduce,
       .paper = kTraff,
       .idea = "The round-optimal broadcast backwards.",
       .sizes = kAnyRankCount,
       .chunks_formula = "K, by default max(1, 4(⌈log2 n⌉-1))",
       .steps_formula = "⌈log2 n⌉-1+K",
       .bytes_formula = "N",
       .formula = "(⌈log2 n⌉-1+K)·(α + N/K·β)",
       .cost = [](int n, int chunks) { return pipeline_cost(n, chunks, chunks); },
       .generate = [](const Request& r) { return reduce_circulant(r.rank_count, r.root, r.chunk_count); },
       .default_chunk_count = pipeline_chunks},
  };
}

}  // namespace hemiola::algorithms
