#include "hemiola/algorithms/late.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "hemiola/algorithms/finish_in_job.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
int late_pieces(int rank_count, int chunk_count) {
  return std::max(1, (rank_count - 1) / chunk_count);
}

int late_chunk_count(int rank_count, std::int64_t nbytes, PortSpeed port) {
  constexpr double kMost = 1 << 20;
  check_late_rank("late_chunk_count", rank_count, Rank{0});
  if (nbytes < 0 || !(port.latency_s > 0) || !(port.bandwidth_Bps > 0) || !std::isfinite(port.latency_s))
    throw ArgumentError(
        "late_chunk_count: expected nbytes >= 0 and a latency and a bandwidth above 0, found " +
        std::to_string(nbytes) + " bytes, " + std::to_string(port.latency_s) + " s and " +
        std::to_string(port.bandwidth_Bps) + " B/s");
  const double early = rank_count - 1, extra = doubling_rounds(rank_count) - 1;
  const double serial_s = static_cast<double>(nbytes) / port.bandwidth_Bps;
  const double best = std::min(std::sqrt(extra * serial_s / port.latency_s), kMost);
  const double grain = best >= early ? early : 1;
  const auto seconds = [&](double chunks) { return (chunks + extra) * (port.latency_s + serial_s / chunks); };
  const double below = std::max(std::floor(best / grain), 1.0) * grain, above = below + grain;
  return static_cast<int>(above <= kMost && seconds(above) < seconds(below) ? above : below);
}

int late_finish_first_step(int rank_count, int chunk_count) {
  return rank_count - 2 + (late_pieces(rank_count, chunk_count) > 1 ? 1 : 0);
}

namespace {

/// While waiting: a chunk gathers the early ranks' parts along their ring, from just behind `end` round to it.
void add_ring_reduce(ScheduleBuilder* builder, const FinishInJob& finish, Chunk chunk, Rank end,
                     int first_step) {
  const int early = finish.early_count();
  for (int hop = 0; hop < early - 1; ++hop) {
    const Rank src{(end + 1 + hop) % early}, dst{(end + 2 + hop) % early};
    builder->reduce(Step{first_step + hop}, finish.rank(src), finish.rank(dst), chunk);
  }
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

/// With fewer chunks than early ranks each chunk is reduced in pieces by different ranks, all of which then hand
/// theirs to its owner: so the reduce-scatter is the balanced one of all early ranks, and one more step gathers.
Schedule reduce_then_finish(const FinishTable& table, Rank late_rank) {
  const int chunk_count = static_cast<int>(table.owner.size());
  const FinishInJob finish{table, late_rank, buffer_order(table.owner),
                           late_pieces(table.rank_count, chunk_count)};
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
  add_finish(&builder, finish, late_finish_first_step(table.rank_count, chunk_count));
  return builder.finish();
}

/// Where the finish's chunks lie when segments are reduced one after another: a rank's releases go through its blocks
/// segment by segment, so every segment's blocks belong to the same ranks however many segments there are.
std::vector<Chunk> segmented_order(const FinishTable& table, int chunks_per_owner) {
  const int early = table.rank_count - 1;
  std::vector<int> released(static_cast<std::size_t>(early), 0);
  std::vector<Chunk> place;
  for (Rank owner : table.owner) {
    const int release = released[static_cast<std::size_t>(owner)]++;
    const int segment = release / chunks_per_owner, within = release % chunks_per_owner;
    place.push_back(Chunk{(segment * early + owner) * chunks_per_owner + within});
  }
  return place;
}

/// The ring all-reduce of all ranks over the chunks from `first_chunk` on, one per rank.
void add_ring_all_reduce(ScheduleBuilder* builder, int first_chunk, int first_step) {
  const int n = builder->rank_count();
  for (int t = 0; t < 2 * (n - 1); ++t)
    for (Rank rank : indices<Rank>(n)) {
      const int chunk = (rank + (t < n - 1 ? n - 1 - t : 2 * n - 1 - t) + n) % n;
      builder->add({Step{first_step + t}, rank, Rank{(rank + 1) % n}, Chunk{first_chunk + chunk}, t < n - 1});
    }
}

void check_segments(const LateSegments& parts) {
  const std::string where = "all_reduce_late_segmented: ";
  if (parts.segments < 1 || parts.segments > (1 << 12))
    throw ArgumentError(where + "expected segments in 1 … 4096, found " + std::to_string(parts.segments));
  if (parts.reduced < 0 || parts.reduced > parts.segments)
    throw ArgumentError(where + "expected reduced in 0 … " + std::to_string(parts.segments) + ", found " +
                        std::to_string(parts.reduced));
  if (parts.chunks_per_owner < 1 || parts.chunks_per_owner > (1 << 12))
    throw ArgumentError(where + "expected chunks_per_owner in 1 … 4096, found " +
                        std::to_string(parts.chunks_per_owner));
}

}  // namespace

Schedule all_reduce_late(int rank_count, Rank late_rank, int chunk_count) {
  check_late_rank("all_reduce_late", rank_count, late_rank);
  if (chunk_count < 1 || chunk_count > (1 << 20))
    throw ArgumentError("all_reduce_late: expected chunk_count in 1 … 2^20, found " +
                        std::to_string(chunk_count));
  return reduce_then_finish(*cached_late_finish(rank_count, chunk_count), late_rank);
}

Schedule all_reduce_late_segmented(int rank_count, Rank late_rank, const LateSegments& parts) {
  check_late_rank("all_reduce_late_segmented", rank_count, late_rank);
  check_segments(parts);
  const int early = rank_count - 1;
  const int per_segment = early * parts.chunks_per_owner, reduced_chunks = parts.reduced * per_segment;
  const int plain_segments = parts.segments - parts.reduced,
            plain_chunks = plain_segments > 0 ? rank_count : 0;

  std::vector<Rank> owner;
  for (int c = 0; c < reduced_chunks; ++c)
    owner.push_back(rank_in_job(Rank{c / parts.chunks_per_owner % early}, late_rank, rank_count));
  for (int c = 0; c < plain_chunks; ++c) owner.push_back(Rank{c});
  // Every segment weighs per_segment * rank_count, in chunks of either kind.
  std::vector<std::int64_t> weights(static_cast<std::size_t>(reduced_chunks), rank_count);
  weights.insert(weights.end(), static_cast<std::size_t>(plain_chunks),
                 static_cast<std::int64_t>(plain_segments) * per_segment);

  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, std::move(owner)));
  builder.set_chunk_weights(std::move(weights));
  const int reduce_steps = rank_count - 2;
  int step = parts.reduced * reduce_steps;
  if (parts.reduced > 0) {
    const auto table = cached_late_finish(rank_count, reduced_chunks);
    const FinishInJob finish{*table, late_rank, segmented_order(*table, parts.chunks_per_owner)};
    for (Chunk c : indices<Chunk>(reduced_chunks)) {
      const Chunk chunk = finish.piece(c, 0);
      add_ring_reduce(&builder, finish, chunk, finish.owner(c), chunk / per_segment * reduce_steps);
    }
    step = add_finish(&builder, finish, step);
  }
  if (plain_chunks > 0) add_ring_all_reduce(&builder, reduced_chunks, step);
  return builder.finish();
}

Schedule all_reduce_stragglar(int rank_count, Rank late_rank) {
  check_late_rank("all_reduce_stragglar", rank_count, late_rank);
  if ((rank_count & (rank_count - 1)) != 0)
    throw ArgumentError("all_reduce_stragglar: expected a power of two, found " + std::to_string(rank_count) +
                        " ranks; all_reduce_late takes any count");
  return reduce_then_finish(stragglar_finish(rank_count), late_rank);
}

}  // namespace hemiola::algorithms
