#include "hemiola/algorithms/ring.hpp"

namespace hemiola::algorithms {
namespace {

Rank next(Rank rank, int rank_count) { return Rank{(rank + 1) % rank_count}; }

/// The rank `hops` places before `rank`.
Rank before(Rank rank, int hops, int rank_count) { return Rank{(rank - hops % rank_count + rank_count) % rank_count}; }

void add_gather_phase(ScheduleBuilder* builder, Step first) {
  const int n = builder->rank_count();
  for (int t = 0; t < n - 1; ++t)
    for (Rank rank : indices<Rank>(n)) builder->copy(Step{first + t}, rank, next(rank, n), Chunk{before(rank, t, n)});
}

void add_reduce_phase(ScheduleBuilder* builder, Step first) {
  const int n = builder->rank_count();
  for (int t = 0; t < n - 1; ++t)
    for (Rank rank : indices<Rank>(n))
      builder->reduce(Step{first + t}, rank, next(rank, n), Chunk{before(rank, t + 1, n)});
}

}  // namespace

Schedule all_gather_ring(int rank_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_gather, rank_count, rank_count));
  add_gather_phase(&builder, Step{0});
  return builder.finish();
}

Schedule reduce_scatter_ring(int rank_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::reduce_scatter, rank_count, rank_count));
  add_reduce_phase(&builder, Step{0});
  return builder.finish();
}

Schedule all_reduce_ring(int rank_count) {
  ScheduleBuilder builder(Collective::make(CollectiveKind::all_reduce, rank_count, rank_count));
  add_reduce_phase(&builder, Step{0});
  add_gather_phase(&builder, Step{rank_count - 1});
  return builder.finish();
}

}  // namespace hemiola::algorithms
