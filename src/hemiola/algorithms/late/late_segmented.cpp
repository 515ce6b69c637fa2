// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/late/late_segmented.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hemiola/algorithms/index/binary.hpp"
#include "hemiola/algorithms/late/early_reduce.hpp"
#include "hemiola/algorithms/late/finish_chunks.hpp"
#include "hemiola/algorithms/papers.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// Segments that the early ranks reduce one after another, at most: a late rank may have to wait for one of
/// so many.
constexpr int kMostSegments = 8;
/// How near to the best time is good enough.
constexpr double kNear = 1.02;

/// The ring all-reduce of all ranks over the chunks from `first_chunk` on, one per rank.
void add_ring_all_reduce(ScheduleBuilder* builder, int first_chunk, int first_step) {
  const int n = builder->rank_count();
  for (int t = 0; t < 2 * (n - 1); ++t)
    for (Rank rank : indices<Rank>(n)) {
      const int chunk = (rank + (t < n - 1 ? n - 1 - t : 2 * n - 1 - t) + n) % n;
      builder->add({Step{first_step + t}, rank, Rank{(rank + 1) % n}, Chunk{first_chunk + chunk}, t < n - 1});
    }
}

constexpr const char* kDoc =
    R"(All-reduce with one late rank that arrives while the early ranks are still reducing.

The buffer goes in segments. Those that the early ranks have reduced by then get the short finish,
together; the others a plain ring all-reduce of all ranks. So there is no critical delay: with no segment reduced this is
the ring, with all of them the all-reduce that waits for its late rank.

Parameters
----------
rank_count : int >= 3.
late_rank : int, 0 … rank_count-1.
segments : int >= 1, equal parts of the buffer.
reduced : int, 0 … segments, how many the early ranks reduce before the late rank joins.
chunks_per_owner : int >= 1, chunks into which each early rank's block of a segment is cut.
finish : "doubling", the fewest rounds; or "direct", in which the holder of a chunk sends it to all ranks itself.

Returns
-------
Schedule, with chunk_weights when both kinds of segment occur.

Raises
------
ArgumentError
    if an argument is outside its range.

Notes
-----
reduced·(n-2) steps before arrival, then reduced·(n-1)·chunks_per_owner + ceil(log2 n) - 1 rounds, or + n - 1 if direct,
then 2(n-1) ring steps over the rest. A direct finish waits for no relays; over TCP it is the faster one. Exposed time,
bandwidth only: [x + (1-x)·2(n-1)/n]·Nβ for a share x reduced, which is the traffic bound. The construction is ours.)";

Function make_function() {
  return function("all_reduce_late_segmented",
                  {required("rank_count"), required("late_rank"), keyword(required("segments")),
                   keyword(required("reduced")), keyword(optional("chunks_per_owner", 1)),
                   keyword(optional("finish", std::string("doubling")))},
                  kDoc,
                  [](int rank_count, int late_rank, int segments, int reduced, int chunks_per_owner,
                     const std::string& finish) {
                    return all_reduce_late_segmented(rank_count, Rank{late_rank},
                                                     {segments, reduced, chunks_per_owner,
                                                      finish_kind("all_reduce_late_segmented", finish)});
                  });
}

}  // namespace

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

void check_segments(const char* algorithm, const LateSegments& parts) {
  const std::string where = std::string(algorithm) + ": ";
  if (parts.segments < 1 || parts.segments > (1 << 12))
    throw ArgumentError(where + "expected segments in 1 … 4096, found " + std::to_string(parts.segments));
  if (parts.reduced < 0 || parts.reduced > parts.segments)
    throw ArgumentError(where + "expected reduced in 0 … " + std::to_string(parts.segments) + ", found " +
                        std::to_string(parts.reduced));
  if (parts.chunks_per_owner < 1 || parts.chunks_per_owner > (1 << 12))
    throw ArgumentError(where + "expected chunks_per_owner in 1 … 4096, found " +
                        std::to_string(parts.chunks_per_owner));
}

Schedule all_reduce_late_segmented(int rank_count, Rank late_rank, const LateSegments& parts) {
  check_late_rank("all_reduce_late_segmented", rank_count, late_rank);
  check_segments("all_reduce_late_segmented", parts);
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
    const auto table = cached_late_finish(rank_count, reduced_chunks, parts.finish);
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

FinishKind finish_kind(const char* algorithm, const std::string& word) {
  if (word == "doubling") return FinishKind::doubling;
  if (word == "direct") return FinishKind::direct;
  throw ArgumentError(std::string(algorithm) + ": expected finish \"doubling\" or \"direct\", found \"" +
                      word + "\"");
}

LateCut late_cut(int rank_count, std::int64_t nbytes, PortSpeed port, FinishKind finish) {
  const int early = std::max(rank_count - 1, 1);
  const double serial_s = static_cast<double>(nbytes) / port.bandwidth_Bps;
  const bool is_direct = finish == FinishKind::direct;
  const int extra = is_direct ? early : std::max(doubling_rounds(std::max(rank_count, 2)) - 1, 1);
  // The time of that share of the buffer, which the early ranks have reduced, in so many chunks per owner of
  // the whole.
  const auto finish_s = [&](int owned, double share) {
    const double chunks = owned * early;
    return (chunks * share + extra) * (port.latency_s + serial_s / chunks);
  };
  int least = 1, most = kMostSegments;
  if (port.latency_s > 0) {
    const double balance = std::sqrt(extra * serial_s / port.latency_s) / early;
    const int best = std::clamp(static_cast<int>(std::nearbyint(std::min(balance, 4096.0))), 1, 4096);
    const auto is_good = [&](int owned) { return finish_s(owned, 1) <= kNear * finish_s(best, 1); };
    least = best;
    most = best;
    while (!is_direct && least > 1 && is_good(least - 1)) --least;
    while (most < std::max(best, kMostSegments) && is_good(most + 1)) ++most;
  }
  LateCut cut;
  cut.finish = finish;
  cut.segments = std::min(kMostSegments, most);
  cut.chunks_per_owner = (least + cut.segments - 1) / cut.segments;
  cut.segment_s = (early - 1) * (port.latency_s + serial_s / (cut.segments * early));
  const double ring_s = 2 * (rank_count - 1) * (port.latency_s + serial_s / rank_count);
  for (int part = 1; part <= cut.segments; ++part) {
    const double share = static_cast<double>(part) / cut.segments;
    cut.finish_s.push_back(finish_s(cut.segments * cut.chunks_per_owner, share) + (1 - share) * ring_s);
  }
  return cut;
}

std::vector<Algorithm> late_segmented_algorithms() {
  return {{.name = "all_reduce_late_segmented",
           .kind = CollectiveKind::all_reduce,
           .paper = kTraff,
           .idea =
               "The finish of one late rank for the segments that the early ranks have reduced by then, a "
               "ring for the others.",
           .sizes = "any n ≥ 3",
           .chunks_formula = "",
           .steps_formula = "",
           .bytes_formula = "",
           .formula = "",
           .needs = Needs::late,
           .functions = {make_function()},
           .why_not = [](const Task& task) { return too_few_ranks(task, 3); }}};
}

}  // namespace hemiola::algorithms
