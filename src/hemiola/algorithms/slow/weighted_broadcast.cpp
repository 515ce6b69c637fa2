// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/slow/weighted_broadcast.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "hemiola/algorithms/papers.hpp"
#include "hemiola/algorithms/slow/exchange.hpp"
#include "hemiola/algorithms/slow/segments.hpp"
#include "hemiola/algorithms/slow/weighted_exchange.hpp"

namespace hemiola::algorithms {
namespace {

/// The root sends every section already; handing one out as well would make its port the last to finish. Where nobody
/// else has anything to spare, all hand on alike.
std::vector<std::int64_t> weights_of_sections(const std::vector<double>& slowdown, Rank root) {
  std::vector<std::int64_t> weight = ownership_weights(slowdown);
  weight[static_cast<std::size_t>(root)] = 0;
  if (std::all_of(weight.begin(), weight.end(), [](std::int64_t w) { return w == 0; }))
    for (std::size_t rank = 0; rank < weight.size(); ++rank) weight[rank] = Rank{rank} != root;
  return weight;
}

/// A slow rank's port then only has to take the buffer in. Two ranks have nobody to hand sections on to.
std::vector<Variant> variants(const Task& task) {
  const int others = task.rank_count - 1;
  if (others < 2 || !has_slow_ranks(task)) return {};
  const std::vector<double> factors = task.factors();
  const auto [fastest, slowest] = std::minmax_element(factors.begin(), factors.end());
  const int owners = Sections(weights_of_sections(factors, task.root)).count();
  std::vector<Variant> found;
  for (const SegmentChoice& choice : best_segments(task, {*slowest / *fastest, others, 1.0 / others}))
    found.push_back({.formula_s = choice.seconds,
                     .transfer_count = std::int64_t{choice.segments} * owners * others,
                     .parameter = "segments",
                     .count = choice.segments});
  return found;
}

constexpr const char* kDoc =
    R"(Broadcast with slow ranks, which hand on less.

The root sends every other rank a section, in segments; all hand theirs on to everybody while the next segment comes. A
rank of factor l has max(0, (2 - l) / l) of a healthy rank's share; the root itself has none.

Parameters
----------
rank_count : int >= 2.
slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
segments : int >= 1, pieces the buffer is pipelined in; None for best_segment_count of the next argument.
root : int, 0 … rank_count-1.
relative_latency : float > 0, latency · bandwidth / bytes.

Returns
-------
Schedule, with chunk_weights in proportion to the sections.

Raises
------
ArgumentError
    if a rank does not exist, a factor is below 1 or not finite, segments < 1, or relative_latency is not
    finite and > 0.

Notes
-----
(k+1)(n-1) steps. One slow rank of factor l, bandwidth only: at most l(k+1)/k · Nβ, where l · Nβ is the bound.)";

Function make_function() {
  return function("broadcast_weighted_exchange",
                  {required("rank_count"), required("slow"), optional("segments"),
                   keyword(optional("root", 0)), keyword(optional("relative_latency", kRelativeLatency))},
                  kDoc,
                  [](int rank_count, const Factors& slow, std::optional<int> segments, int root,
                     double relative_latency) {
                    const auto factors = factors_of("broadcast_weighted_exchange: slow", slow, rank_count);
                    const int count = segments_or_best(segments, rank_count, factors, relative_latency);
                    return broadcast_weighted_exchange(rank_count, factors, count, Rank{root});
                  });
}

}  // namespace

Schedule broadcast_weighted_exchange(int rank_count, const std::vector<double>& slowdown, int segments,
                                     Rank root) {
  const std::string where = "broadcast_weighted_exchange";
  check_slowdown(where, rank_count, slowdown, segments);
  check_rank(where + ": expected root", root, rank_count);
  const Exchange exchange(rank_count, segments, weights_of_sections(slowdown, root));
  ScheduleBuilder builder = exchange.builder(CollectiveKind::broadcast, root);
  for (int body = 0; body < exchange.bodies(); ++body)
    for (int round = 1; round <= exchange.rounds(); ++round) {
      const Step step = exchange.step(body, round);
      if (const Rank dst = exchange.ahead(root, round); body < segments && exchange.sections.owns(dst))
        builder.copy(step, root, dst, exchange.chunk(body, dst));
      for (Rank src : exchange.sections.owners)
        if (const Rank dst = exchange.ahead(src, round); body > 0 && dst != root)
          builder.copy(step, src, dst, exchange.chunk(body - 1, src));
    }
  return builder.finish();
}

std::vector<Algorithm> weighted_broadcast_algorithms() {
  return {
      {.name = "broadcast_weighted_exchange",
       .kind = CollectiveKind::broadcast,
       .paper = kOptcc,
       .idea =
           "The root sends each rank a section in K segments, all hand theirs on; a slow rank's is smaller.",
       .sizes = "any n ≥ 2",
       .chunks_formula = "",
       .steps_formula = "(n-1)(K+1)",
       .bytes_formula = "",
       .formula = "l(K+1)/K·N·β for one slow rank of factor l, bandwidth only",
       .needs = Needs::slow,
       .functions = {make_function()},
       .why_not = [](const Task& task) { return too_few_ranks(task, 2); },
       .variants = variants}};
}

}  // namespace hemiola::algorithms
