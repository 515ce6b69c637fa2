// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/late/late.hpp"

#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "hemiola/algorithms/late/early_reduce.hpp"
#include "hemiola/algorithms/late/finish_chunks.hpp"
#include "hemiola/algorithms/papers.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// The chunk count that was asked for, the best one where size and speed are known, or one chunk per early rank.
int chosen_chunks(int rank_count, std::optional<int> chunk_count, std::optional<std::int64_t> nbytes,
                  std::optional<double> latency_s, std::optional<double> bandwidth) {
  if (nbytes.has_value() != latency_s.has_value() || nbytes.has_value() != bandwidth.has_value())
    throw ArgumentError(
        "all_reduce_late: expected nbytes, latency_s and bandwidth together, or none of them");
  if (chunk_count) return *chunk_count;
  if (!nbytes) return rank_count - 1;
  check_late_rank("all_reduce_late", rank_count, Rank{0});
  if (*nbytes < 0 || !(*latency_s > 0) || !(*bandwidth > 0) || !std::isfinite(*latency_s))
    throw ArgumentError(
        "all_reduce_late: expected nbytes >= 0 and a latency and a bandwidth above 0, found " +
        std::to_string(*nbytes) + " bytes, " + std::to_string(*latency_s) + " s and " +
        std::to_string(*bandwidth) + " B/s");
  return best_finish_chunks(rank_count, *nbytes, {*latency_s, *bandwidth});
}

std::vector<Variant> variants(const Task& task) {
  const int n = task.rank_count;
  if (!one_late_rank(task)) return {};
  std::set<int> counts = good_finish_chunks(n, task.nbytes, task.port);
  counts.insert(n - 1);
  // Where latencies overlap with the next rounds, as in simulated networks, more chunks are better than by
  // the formula.
  const int turns = best_finish_chunks(n, task.nbytes, task.port) / (n - 1) + 1;
  for (int times : {1, 2})
    if (turns * times * (n - 1) <= kMostFinishChunks) counts.insert(turns * times * (n - 1));
  std::vector<Variant> found;
  for (int chunks : counts)
    found.push_back({.formula_s = reduce_then_finish_s(task, finish_rounds(n, chunks), chunks),
                     .transfer_count = std::int64_t{2} * chunks * (n - 1),
                     .parameter = "chunk_count",
                     .count = chunks});
  return found;
}

constexpr const char* kDoc =
    R"(All-reduce with one late rank, at the lower bound of rounds after its arrival.

The early ranks reduce-scatter among themselves while they wait (rank_count - 2 steps, one more where there are fewer
chunks than early ranks). Then the late rank sends
one raw chunk a round, each to the chunk's owner, which adds it; finished chunks double behind it.

Parameters
----------
rank_count : int >= 3, odd counts too.
late_rank : int, 0 … rank_count-1.
chunk_count : int >= 1; None for the best count where the next three are given, else for one chunk per early rank.
nbytes : int >= 0, bytes of the buffer.
latency_s : float > 0, seconds of a message.
bandwidth : float > 0, bytes per second of a port.

Returns
-------
Schedule

Raises
------
ArgumentError
    if an argument is outside its range, or some of nbytes, latency_s and bandwidth are given and not all.

Notes
-----
The best chunk count is M* = sqrt((ceil(log2 n) - 1)·nbytes/(bandwidth·latency_s)), in multiples of n - 1 from there on,
at most 4096. It takes chunk_count + ceil(log2 n) - 1 rounds after arrival, and owners are balanced. The late rank's
part is added exactly once per chunk, and all other messages are copies, so results are bitwise equal on all ranks.
Lower bound: [StragglAR, §4]; the construction is ours, on the circulant broadcast of [traff2024broadcast].)";

Function make_function() {
  return function(
      "all_reduce_late",
      {required("rank_count"), required("late_rank"), optional("chunk_count"), keyword(optional("nbytes")),
       keyword(optional("latency_s")), keyword(optional("bandwidth"))},
      kDoc,
      [](int rank_count, int late_rank, std::optional<int> chunk_count, std::optional<std::int64_t> nbytes,
         std::optional<double> latency_s, std::optional<double> bandwidth) {
        const int chunks = chosen_chunks(rank_count, chunk_count, nbytes, latency_s, bandwidth);
        return all_reduce_late(rank_count, Rank{late_rank}, chunks);
      });
}

}  // namespace

Schedule all_reduce_late(int rank_count, Rank late_rank, int chunk_count) {
  check_late_rank("all_reduce_late", rank_count, late_rank);
  if (chunk_count < 1 || chunk_count > (1 << 20))
    throw ArgumentError("all_reduce_late: expected chunk_count in 1 … 2^20, found " +
                        std::to_string(chunk_count));
  return reduce_then_finish(*cached_late_finish(rank_count, chunk_count), late_rank);
}

std::vector<Algorithm> late_algorithms() {
  return {{.name = "all_reduce_late",
           .kind = CollectiveKind::all_reduce,
           .paper = kTraff,
           .idea = "The early ranks reduce-scatter while they wait; then the late rank's raw chunks and the "
                   "finished chunks follow each other on the circulant graph.",
           .sizes = "any n ≥ 3",
           .chunks_formula = "K, by default n-1",
           .steps_formula = "⌈log2 n⌉-1+K after arrival",
           .bytes_formula = "",
           .formula = "(⌈log2 n⌉-1+K)·(α + N/K·β) after arrival",
           .needs = Needs::late,
           .functions = {make_function()},
           .why_not = [](const Task& task) { return too_few_ranks(task, 3); },
           .variants = variants}};
}

}  // namespace hemiola::algorithms
