// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/slow/weighted_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "hemiola/algorithms/papers.hpp"
#include "hemiola/algorithms/slow/exchange.hpp"
#include "hemiola/algorithms/slow/segments.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// More are not chosen for a body less: a schedule of so many takes seconds and half a GB to make.
constexpr std::int64_t kMostTransfers = std::int64_t{1} << 25;

/// Whether a port waits once a body: one switch joins all ranks, of which one is slow. Then a simulation finds two
/// latencies beside the bytes at least, and at most one for each body.
bool only_bodies_wait(const Task& task, const std::vector<double>& factors) {
  const double fastest = std::ranges::min(factors);
  return task.topology != nullptr && task.topology->switch_count() == 1 &&
         std::ranges::count_if(factors, [&](double factor) { return factor > fastest; }) == 1;
}

std::vector<Variant> variants(const Task& task) {
  if (!has_slow_ranks(task)) return {};
  const std::vector<double> factors = task.factors();
  const ExchangeLoad load = exchange_load(factors);
  const int rounds = task.rank_count - 1;
  const double fastest = std::ranges::min(factors);
  const std::int64_t a_segment = std::int64_t{2} * load.owners * rounds;
  const bool knows_more = only_bodies_wait(task, factors);
  std::vector<Variant> found;
  for (const auto [segments, seconds, overlapped] :
       best_segments(task, {load.time / fastest, rounds, 1.0 / load.owners}, kMostTransfers / a_segment)) {
    const bool stands_for_simulation = knows_more && segments * a_segment > task.most_transfers;
    found.push_back({.formula_s = stands_for_simulation ? overlapped : seconds,
                     .transfer_count = segments * a_segment,
                     .parameter = "segments",
                     .count = segments,
                     .is_simulation = stands_for_simulation});
  }
  return found;
}

constexpr const char* kWeightedDoc =
    R"(All-reduce with slow ranks, in which a slow rank owns less of the buffer.

A shifted direct exchange in segments: the reduce-scatter of one segment shares its messages with the all-gather of
the segment before. A rank of factor l owns max(0, (2 - l) / l) of a healthy rank's share.

Parameters
----------
rank_count : int >= 2.
slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
segments : int >= 1, pieces the buffer is pipelined in; None for best_segment_count of the next argument.
relative_latency : float > 0, latency · bandwidth / bytes; the default is 4 µs at 25 GB/s for 1 GB.

Returns
-------
Schedule, with chunk_weights in proportion to ownership.

Raises
------
ArgumentError
    if a rank does not exist, a factor is below 1 or not finite, segments < 1, or relative_latency is not
    finite and > 0.

Notes
-----
One slow rank of factor l, k segments, bandwidth only: l(k+1)/k · Nβ for l >= 2, and
2(n-1)l/((n-2)l+2) · (k+l-1)/k · Nβ below, the closed forms of [OptCC, Theorems 1 and 6]. (k+1)(n-1) steps.)";

constexpr const char* kPartsDoc =
    R"(The same transfers as all_reduce_weighted_exchange, rank by rank, without making the whole schedule.

Parameters
----------
rank_count : int >= 2.
slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
segments : int >= 1, pieces the buffer is pipelined in; None for best_segment_count of the next argument.
relative_latency : float > 0, latency · bandwidth / bytes; the default is 4 µs at 25 GB/s for 1 GB.

Returns
-------
ScheduleParts

Raises
------
ArgumentError
    if a rank does not exist, a factor is below 1 or not finite, segments < 1, or relative_latency is not
    finite and > 0.

Notes
-----
A part has at most 4(k+1)(n-1) rows and takes time in proportion; the schedule has n/2 times as many.)";

constexpr const char* kReduceScatterDoc =
    R"(Reduce-scatter with slow ranks, which own less: the first half of the weighted exchange.

Parameters
----------
rank_count : int >= 2.
slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.

Returns
-------
Schedule, with chunk_weights in proportion to ownership: max(0, (2 - l) / l) for factor l. A rank without a share gets
nothing.

Raises
------
ArgumentError
    if a rank does not exist or a factor is below 1 or not finite.

Notes
-----
n - 1 steps, one message each way per rank in each. For shards that a later all_gather_weighted_exchange collects,
such as those of an optimizer. One slow rank of factor l that owns a share f, bandwidth only: l(1 - f) · Nβ, which
its port must carry. Where every rank must own as much, reduce_scatter_direct_rounds is at the bound already.)";

constexpr const char* kAllGatherDoc =
    R"(All-gather with slow ranks, which own less: the second half of the weighted exchange.

Parameters
----------
rank_count : int >= 2.
slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.

Returns
-------
Schedule, with chunk_weights in proportion to ownership: max(0, (2 - l) / l) for factor l.

Raises
------
ArgumentError
    if a rank does not exist or a factor is below 1 or not finite.

Notes
-----
n - 1 steps, one message each way per rank in each. One slow rank of factor l that owns a share f, bandwidth only:
l(1 - f) · Nβ, which its port must carry.)";

constexpr const char* kBestSegmentsDoc =
    R"(Choose how many segments a slow-rank exchange is pipelined in.

Parameters
----------
rank_count : int >= 2.
slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
relative_latency : float > 0, latency · bandwidth / bytes.

Returns
-------
int, 1 … 4096: sqrt(bound·c / ((n-1)·relative_latency)) with c = min(1, l - 1) for the largest factor l, where the
bound is max(l, 2(n-1) / Σ max(0, (2 - l_i) / l_i)).

Raises
------
ArgumentError
    if a rank does not exist, a factor is below 1 or not finite, or relative_latency is not finite and > 0.

Notes
-----
The minimum of bound·(k + c)/k + (k + 1)(n - 1)·relative_latency, which charges a latency for every message.)";

std::vector<Parameter> parameters() {
  return {required("rank_count"), required("slow"), optional("segments"),
          keyword(optional("relative_latency", kRelativeLatency))};
}

/// The function of a maker of the whole all-reduce, or of its parts.
template <typename Make>
Function all_reduce_function(const std::string& name, const char* doc, Make make) {
  return function(name, parameters(), doc,
                  [name, make](int rank_count, const Factors& slow, std::optional<int> segments,
                               double relative_latency) {
                    const auto factors = factors_of(name + ": slow", slow, rank_count);
                    return make(rank_count, factors,
                                segments_or_best(segments, rank_count, factors, relative_latency));
                  });
}

/// The function of one half.
Function half_function(const std::string& name, const char* doc,
                       Schedule (*make)(int, const std::vector<double>&)) {
  return function(name, {required("rank_count"), required("slow")}, doc,
                  [name, make](int rank_count, const Factors& slow) {
                    return make(rank_count, factors_of(name + ": slow", slow, rank_count));
                  });
}

Function best_segments_function() {
  return function(
      "best_segment_count", {required("rank_count"), required("slow"), required("relative_latency")},
      kBestSegmentsDoc, [](int rank_count, const Factors& slow, double relative_latency) -> std::int64_t {
        return best_segment_count(rank_count, factors_of("best_segment_count: slow", slow, rank_count),
                                  relative_latency);
      });
}

std::string why_not(const Task& task) {
  return too_few_ranks(task, 2);
}

Algorithm half(std::string_view name, CollectiveKind kind, std::string_view idea, Function made_by) {
  return {.name = name,
          .kind = kind,
          .paper = kOptcc,
          .idea = idea,
          .sizes = "any n ≥ 2",
          .chunks_formula = "",
          .steps_formula = "n-1",
          .bytes_formula = "",
          .formula = "l(1-f)·N·β for one slow rank of factor l that owns a share f, bandwidth only",
          .needs = Needs::slow,
          .functions = {std::move(made_by)},
          .why_not = why_not};
}

}  // namespace

Schedule all_reduce_weighted_exchange(int rank_count, const std::vector<double>& slowdown, int segments) {
  const Exchange exchange = checked_exchange("all_reduce_weighted_exchange", rank_count, slowdown, segments);
  ScheduleBuilder builder = exchange.builder(CollectiveKind::all_reduce);
  for (int body = 0; body < exchange.bodies(); ++body)
    for (int round = 1; round <= exchange.rounds(); ++round)
      for (Rank src : indices<Rank>(rank_count))
        exchange.all_reduce_message(body, round, src, [&](const Transfer& t) { builder.add(t); });
  return builder.finish();
}

ScheduleParts all_reduce_weighted_exchange_parts(int rank_count, const std::vector<double>& slowdown,
                                                 int segments) {
  const char* const where = "all_reduce_weighted_exchange_parts";
  Exchange exchange = checked_exchange(where, rank_count, slowdown, segments);
  Hasher hasher;
  hasher.add_bytes(std::as_bytes(std::span(where, std::strlen(where))));
  for (const int number : {rank_count, segments}) hasher.add(static_cast<std::uint64_t>(number));
  hasher.add_array(std::span<const std::int64_t>(exchange.sections.weight));
  hasher.add_bytes(std::as_bytes(std::span(exchange.sections.owners)));
  Collective collective = exchange.collective(CollectiveKind::all_reduce);
  auto weights = per_segment(exchange.sections.weight, segments);
  return {std::move(collective), std::move(weights),
          [exchange = std::move(exchange)](Rank rank) { return exchange.all_reduce_part(rank); },
          hasher.finish()};
}

Schedule reduce_scatter_weighted_exchange(int rank_count, const std::vector<double>& slowdown) {
  const Exchange exchange = checked_exchange("reduce_scatter_weighted_exchange", rank_count, slowdown, 1);
  ScheduleBuilder builder = exchange.builder(CollectiveKind::reduce_scatter);
  for (int round = 1; round <= exchange.rounds(); ++round)
    for (Rank src : indices<Rank>(rank_count))
      if (const Rank dst = exchange.ahead(src, round); exchange.sections.owns(dst))
        builder.reduce(exchange.step(0, round), src, dst, exchange.chunk(0, dst));
  return builder.finish();
}

Schedule all_gather_weighted_exchange(int rank_count, const std::vector<double>& slowdown) {
  const Exchange exchange = checked_exchange("all_gather_weighted_exchange", rank_count, slowdown, 1);
  ScheduleBuilder builder = exchange.builder(CollectiveKind::all_gather);
  for (int round = 1; round <= exchange.rounds(); ++round)
    for (Rank src : exchange.sections.owners)
      builder.copy(exchange.step(0, round), src, exchange.ahead(src, round), exchange.chunk(0, src));
  return builder.finish();
}

int best_segment_count(int rank_count, const std::vector<double>& slowdown, double relative_latency) {
  check_slowdown("best_segment_count", rank_count, slowdown, 1);
  if (!std::isfinite(relative_latency) || relative_latency <= 0)
    throw ArgumentError("best_segment_count: expected a finite relative_latency > 0, found " +
                        std::to_string(relative_latency));
  const auto [fastest, slowest] = std::minmax_element(slowdown.begin(), slowdown.end());
  const double l = *slowest / *fastest;
  const double rounds = rank_count - 1;
  const double bound = std::max(l, 2 * rounds / spare_ports(slowdown));
  const double k = std::sqrt(bound * std::min(1.0, l - 1) / (rounds * relative_latency));
  return static_cast<int>(std::clamp(std::round(k), 1.0, 4096.0));
}

int segments_or_best(std::optional<int> segments, int rank_count, const std::vector<double>& slowdown,
                     double relative_latency) {
  return segments ? *segments : best_segment_count(rank_count, slowdown, relative_latency);
}

std::vector<Algorithm> weighted_exchange_algorithms() {
  return {
      {.name = "all_reduce_weighted_exchange",
       .kind = CollectiveKind::all_reduce,
       .paper = kOptcc,
       .idea =
           "Direct exchange in K segments in which a slow rank owns less; the reduce-scatter of a segment "
           "shares its messages with the all-gather of the one before.",
       .sizes = "any n ≥ 2",
       .chunks_formula = "",
       .steps_formula = "(n-1)(K+1)",
       .bytes_formula = "",
       .formula = "l(K+1)/K·N·β for one slow rank of factor l ≥ 2, bandwidth only",
       .needs = Needs::slow,
       .functions = {all_reduce_function("all_reduce_weighted_exchange", kWeightedDoc,
                                         all_reduce_weighted_exchange),
                     all_reduce_function("all_reduce_weighted_exchange_parts", kPartsDoc,
                                         all_reduce_weighted_exchange_parts),
                     best_segments_function()},
       .why_not = why_not,
       .variants = variants},
      half("reduce_scatter_weighted_exchange", CollectiveKind::reduce_scatter,
           "The weighted exchange's first half: every rank ends with the section that it owns there.",
           half_function("reduce_scatter_weighted_exchange", kReduceScatterDoc,
                         reduce_scatter_weighted_exchange)),
      half("all_gather_weighted_exchange", CollectiveKind::all_gather,
           "The weighted exchange's second half: every rank brings the section that it owns there.",
           half_function("all_gather_weighted_exchange", kAllGatherDoc, all_gather_weighted_exchange)),
  };
}

}  // namespace hemiola::algorithms
