// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/late/early_reduce.hpp"

#include <algorithm>
#include <vector>

namespace hemiola::algorithms {
namespace {

/// Into how many pieces a chunk is cut while the early ranks reduce, so that all of them have one where there are fewer
/// chunks than early ranks.
int pieces_of_chunk(int rank_count, int chunk_count) {
  return std::max(1, (rank_count - 1) / chunk_count);
}

/// The early ranks that own no chunk, each to reduce one piece of a chunk with fewer owners than ranks.
std::vector<Rank> ranks_without_chunk(const FinishTable& table) {
  std::vector<bool> owns(static_cast<std::size_t>(table.rank_count), false);
  for (Rank owner : table.owner) owns[static_cast<std::size_t>(owner)] = true;
  std::vector<Rank> free;
  for (Rank rank : indices<Rank>(table.rank_count - 1))
    if (!owns[static_cast<std::size_t>(rank)]) free.push_back(rank);
  return free;
}

}  // namespace

std::vector<Rank> others(int rank_count, const std::vector<Rank>& ranks) {
  std::vector<Rank> rest;
  for (Rank rank : indices<Rank>(rank_count))
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) rest.push_back(rank);
  return rest;
}

void add_ring_reduce(ScheduleBuilder* builder, const std::vector<Rank>& ring, std::size_t end, Chunk chunk) {
  for (std::size_t hop = 0; hop + 1 < ring.size(); ++hop)
    builder->reduce(Step{hop}, ring[(end + 1 + hop) % ring.size()], ring[(end + 2 + hop) % ring.size()],
                    chunk);
}

void add_ring_reduce(ScheduleBuilder* builder, const FinishInJob& finish, Chunk chunk, Rank end,
                     int first_step) {
  const int early = finish.early_count();
  for (int hop = 0; hop < early - 1; ++hop) {
    const Rank src{(end + 1 + hop) % early}, dst{(end + 2 + hop) % early};
    builder->reduce(Step{first_step + hop}, finish.rank(src), finish.rank(dst), chunk);
  }
}

Schedule reduce_then_finish(const FinishTable& table, Rank late_rank) {
  const int chunk_count = static_cast<int>(table.owner.size());
  const FinishInJob finish{table, late_rank, buffer_order(table.owner),
                           pieces_of_chunk(table.rank_count, chunk_count)};
  std::vector<Rank> owner(static_cast<std::size_t>(chunk_count * finish.pieces));
  for (Chunk c : indices<Chunk>(chunk_count))
    for (int i = 0; i < finish.pieces; ++i)
      owner[static_cast<std::size_t>(finish.piece(c, i))] = finish.rank(finish.owner(c));
  ScheduleBuilder builder(
      Collective::with_owners(CollectiveKind::all_reduce, table.rank_count, std::move(owner)));

  const std::vector<Rank> free = finish.pieces > 1 ? ranks_without_chunk(table) : std::vector<Rank>{};
  const int gather_step = table.rank_count - 2;
  for (Chunk c : indices<Chunk>(chunk_count)) {
    add_ring_reduce(&builder, finish, finish.piece(c, 0), finish.owner(c), 0);
    for (int i = 1; i < finish.pieces; ++i) {
      const Rank reducer = free[static_cast<std::size_t>(c * (finish.pieces - 1) + i - 1)];
      add_ring_reduce(&builder, finish, finish.piece(c, i), reducer, 0);
      builder.copy(Step{gather_step}, finish.rank(reducer), finish.rank(finish.owner(c)), finish.piece(c, i));
    }
  }
  add_finish(&builder, finish, finish.pieces > 1 ? gather_step + 1 : gather_step);
  return builder.finish();
}

std::optional<Rank> one_late_rank(const Task& task) {
  const auto late = task.late();
  if (task.rank_count < 3 || late.size() != 1) return std::nullopt;
  return late.front().second;
}

double reduce_then_finish_s(const Task& task, int round_count, int chunk_count) {
  const double early = task.rank_count - 1;
  const double waiting_s = (early - 1) * (task.port.latency_s + task.serial_s() / early);
  return std::max(task.delay_s(), waiting_s) +
         round_count * (task.port.latency_s + task.serial_s() / chunk_count);
}

}  // namespace hemiola::algorithms
