// Algorithms made for conditions: they take the late rank or the slow ranks as arguments.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hemiola/algorithms/late.hpp"
#include "hemiola/algorithms/late_several.hpp"
#include "hemiola/algorithms/optcc.hpp"
#include "hemiola/algorithms/rail_exchange.hpp"
#include "hemiola/algorithms/weighted_exchange.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

constexpr const char* kLateDoc =
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
latency_s : float > 0, of a message.
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
The best chunk count is M* = sqrt((ceil(log2 n) - 1)·nbytes/(bandwidth·latency_s)), in multiples of n - 1 from there on.
chunk_count + ceil(log2 n) - 1 rounds after arrival; owners are balanced; the late rank's part is added exactly once
per chunk, all other messages are copies, so results are bitwise equal on all ranks. Lower bound: [StragglAR, §4];
the construction is ours, on the circulant broadcast of [traff2024broadcast].)";

constexpr const char* kSeveralDoc =
    R"(All-reduce with several late ranks, folded in as they arrive.

The ranks in time reduce-scatter among themselves at once. Each late rank but the last sends its part of every
chunk, one a round, to whoever holds the chunk, and takes over the chunks it is to own. The last one's arrival
starts the finish of all_reduce_late.

Parameters
----------
rank_count : int >= 3.
late_ranks : list of distinct ranks in order of arrival, 1 … rank_count-2 of them.
chunk_count : int >= 1, or None for one chunk per rank that comes before the last.

Returns
-------
Schedule

Raises
------
ArgumentError
    if an argument is outside its range.

Notes
-----
chunk_count + ceil(log2 n) - 1 rounds after the last arrival, once the others are folded in, which takes each
chunk_count·(n-2)/(n-1) rounds from its arrival on. Late ranks that arrive together are folded in one after the other:
two at once take longer than a ring; for them there is all_reduce_late_together. The construction is ours.)";

constexpr const char* kTogetherDoc =
    R"(All-reduce with several late ranks that arrive at about the same time.

The ranks in time reduce-scatter among themselves. Once the late ranks are there, these hand their parts of the next
chunks to the owners, while the owners hand out the chunks that are complete: every port in time is busy both ways.

Parameters
----------
rank_count : int >= 3.
late_ranks : list of distinct ranks, 1 … rank_count-2 of them.
chunk_count : int >= 1, or None for eight chunks per rank in time.

Returns
-------
Schedule

Raises
------
ArgumentError
    If an argument is outside its range.

Notes
-----
With k late ranks and K chunks, n-k + ceil(K / (n-k))·(n-1) rounds after the last arrival, each of α + sβ/K: many
chunks take (n-1)/(n-k)·sβ, 1.17 for two of eight. No schedule takes less than (n-1+k)/n·sβ, as so much must still
pass the ports once the others have reduced; a ring takes 2(n-1)/n·sβ, so this pays while fewer than half of the
ranks are late. The construction is ours.)";

constexpr const char* kLateBroadcastDoc =
    R"(All-reduce with one late rank by StragglAR's late-aware baseline.

The early ranks all-reduce among themselves; then the late rank exchanges the whole buffer with one of them, and both
spread the result along a binomial tree.

Parameters
----------
rank_count : int >= 3.
late_rank : int, 0 … rank_count-1.

Returns
-------
Schedule

Raises
------
ArgumentError
    if an argument is outside its range.

Notes
-----
2(n-2) steps before arrival, ceil(log2 n) rounds of the whole buffer after it [StragglAR, §4.1].)";

constexpr const char* kSegmentedDoc =
    R"(All-reduce with one late rank that arrives while the early ranks are still reducing.

The buffer goes in segments. Those that the early ranks have reduced by then get the short finish of
all_reduce_late, together; the others a plain ring all-reduce of all ranks. So there is no critical delay: with no
segment reduced this is the ring, with all of them all_reduce_late.

Parameters
----------
rank_count : int >= 3.
late_rank : int, 0 … rank_count-1.
segments : int >= 1, equal parts of the buffer.
reduced : int, 0 … segments, how many the early ranks reduce before the late rank joins.
chunks_per_owner : int >= 1, chunks into which each early rank's block of a segment is cut.

Returns
-------
Schedule, with chunk_weights when both kinds of segment occur.

Raises
------
ArgumentError
    if an argument is outside its range.

Notes
-----
reduced·(n-2) steps before arrival, then reduced·(n-1)·chunks_per_owner + ceil(log2 n) - 1 rounds, then 2(n-1) ring
steps over the rest. Exposed time, bandwidth only: [x + (1-x)·2(n-1)/n]·Nβ for a share x reduced, which is the
traffic bound. The construction is ours.)";

constexpr const char* kStragglarDoc = R"(StragglAR's published all-reduce with one late rank.

Parameters
----------
rank_count : int, a power of two >= 4.
late_rank : int, 0 … rank_count-1.

Returns
-------
Schedule

Raises
------
ArgumentError
    if an argument is outside its range.

Notes
-----
n + log2 n - 2 rounds after arrival, one chunk per early rank [StragglAR, Algorithm 1]. The printed pseudo-code is
resolved where it is wrong: the loop ends at n + log2 n - 3 (line 3); round 0 belongs to neither phase (6, 9); the
late rank and matched ranks are no free receivers (8); the critical window ends at r + log2 n - 1 (13); a window rank
takes the oldest chunk c <= rank - log2 n that *some* free holder outside the window has (14); it sends its own active
chunk and receives the selected one (15); both sides are recomputed after the window's picks (10-11); an expired chunk
is removed (19); the late rank joins the holders of the last chunk from round n - 1 on.)";

constexpr const char* kWeightedDoc =
    R"(All-reduce with slow ranks, in which a slow rank owns less of the buffer.

A shifted direct exchange in segments: the reduce-scatter of one segment shares its messages with the all-gather of
the segment before. A rank of factor l owns max(0, (2 - l) / l) of what a healthy rank owns.

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
Schedule, with chunk_weights in proportion to ownership: max(0, (2 - l) / l) for factor l. Who owns nothing gets
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

constexpr const char* kBroadcastDoc = R"(Broadcast with slow ranks, which hand on less.

The root sends every other rank a section, in segments; all hand theirs on to everybody while the next segment comes. A
rank of factor l has max(0, (2 - l) / l) of what a healthy rank has; the root itself has none.

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

constexpr const char* kBestSegmentsDoc = R"(Choose how many segments a slow-rank exchange is pipelined in.

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

constexpr const char* kRailDoc =
    R"(All-reduce for hosts with several ranks and one NIC each, some of them slow.

The weighted exchange over the hosts on every rail (ranks of equal place), with the reduce-scatter and all-gather inside
the hosts one segment ahead and one behind.

Parameters
----------
host_count : int >= 2.
ranks_per_host : int >= 1; rank = host * ranks_per_host + rail.
slow_hosts : mapping of host to float >= 1, the factors by which its ranks' NICs are slower.
segments : int >= 1, pieces the buffer is pipelined in.

Returns
-------
Schedule

Raises
------
ArgumentError
    if a host does not exist, a factor is below 1 or not finite, or a count is out of range.

Notes
-----
With g ranks a host, links inside that carry g - 1 times a NIC, and one host of factor l >= 2, bandwidth only:
[l(k+1) + 2]/(gk) · Nβ for k segments, less (h-2)/((h-1)(g-1)) · Nβ/(gk) that the last phase does ahead. [OptCC,
§4.4] states l(k+5.5)/(gk) and leaves several slow hosts open.)";

constexpr const char* kOptccDoc = R"(OptCC's four stages on a ring of the healthy ranks.

Parameters
----------
rank_count : int >= 3.
slow : mapping of one rank to its factor, a float >= 1 by which its port is slower; or the rank alone, an int in 0 …
    rank_count-1, for a factor of 2 or more, or one that is not known.
segments : int >= 1, pieces the buffer is pipelined in; None for best_optcc_segment_count of the next argument.
relative_latency : float > 0, latency · bandwidth / bytes; the default is 4 µs at 25 GB/s for 1 GB.

Returns
-------
Schedule

Raises
------
ArgumentError
    if an argument is outside its range, or `slow` does not name exactly one rank.

Notes
-----
The slow rank's raw part goes to a section's owner, as do the others' parts round the healthy ring, adding; the
result goes back to the slow rank and round the ring [OptCC, §4.1]. Below a factor l of 2 the slow rank owns (2 -
l)/l of what a healthy rank owns [OptCC, Appendix C]. One rotating pattern instead of the paper's four. Bandwidth
only, k segments: at most (k + 1.5 - 1/(n-1))/k of the bound, which an even rank count n takes at l = 2 and k >= 3.
Healthy ranks send to the next one and the slow one only: for networks in which only neighbours are near;
all_reduce_weighted_exchange is faster where all pairs are.)";

constexpr const char* kBestOptccSegmentsDoc = R"(Choose how many segments all_reduce_optcc is pipelined in.

Parameters
----------
rank_count : int >= 3.
slow : mapping of one rank to its factor, a float >= 1; or the rank alone, for a factor of 2.
relative_latency : float > 0, latency · bandwidth / bytes.

Returns
-------
int, 1 … 4096: sqrt(1.5·bound/relative_latency), but no more than (max(l, 2) - 1) / (s·relative_latency) for s
sections a segment, n - 1 + max(0, (2 - l)/l).

Raises
------
ArgumentError
    if an argument is outside its range, or `slow` does not name exactly one rank.

Notes
-----
A section makes one hop in a window of max(l, 2) hops: up to the second term its latency passes meanwhile, beyond
every hop waits for it. Latencies are then paid while the pipeline fills and empties, whatever the count; the first
term weighs the 1.5/k for that against one latency a segment (a ring of two healthy ranks pays it) for what else a
message may cost.)";

using Factors = std::map<int, double>;

/// Latency · bandwidth / bytes for 4 µs at 25 GB/s and 1 GB.
constexpr double kRelativeLatency = 1e-4;

/// One factor per participant from a mapping that names some.
std::vector<double> factors_of(const char* what, const Factors& slow, int count) {
  std::vector<double> factors(static_cast<std::size_t>(std::max(count, 0)), 1.0);
  for (const auto& [index, factor] : slow) {
    if (index < 0 || index >= count)
      throw ArgumentError(std::string(what) + " names " + std::to_string(index) + ", expected 0 … " +
                          std::to_string(count - 1));
    factors[static_cast<std::size_t>(index)] = factor;
  }
  return factors;
}

/// A rank, or one with its factor.
using SlowRank = std::variant<int, Factors>;

std::pair<int, double> one_slow_rank(const char* what, const SlowRank& slow) {
  constexpr double kOwnsNothing = 2.0;
  if (const int* rank = std::get_if<int>(&slow)) return {*rank, kOwnsNothing};
  const auto& factors = std::get<Factors>(slow);
  if (factors.size() != 1)
    throw ArgumentError(std::string(what) + " names " + std::to_string(factors.size()) +
                        " ranks, expected 1; all_reduce_open_shop_exchange takes several");
  return *factors.begin();
}

int segments_or_best(std::optional<int> segments, int count, const std::vector<double>& factors,
                     double relative_latency) {
  return segments ? *segments : algorithms::best_segment_count(count, factors, relative_latency);
}

/// What takes slow ranks and ends with the shares that they have in the weighted exchange.
void bind_weighted_exchange(nb::module_& a) {
  const nb::call_guard<nb::gil_scoped_release> no_gil;
  a.def(
      "all_reduce_weighted_exchange",
      [](int rank_count, const Factors& slow, std::optional<int> segments, double relative_latency) {
        const auto factors = factors_of("all_reduce_weighted_exchange: slow", slow, rank_count);
        return algorithms::all_reduce_weighted_exchange(
            rank_count, factors, segments_or_best(segments, rank_count, factors, relative_latency));
      },
      "rank_count"_a, "slow"_a, "segments"_a = nb::none(), nb::kw_only(),
      "relative_latency"_a = kRelativeLatency, kWeightedDoc, no_gil);
  a.def(
      "all_reduce_weighted_exchange_parts",
      [](int rank_count, const Factors& slow, std::optional<int> segments, double relative_latency) {
        const auto factors = factors_of("all_reduce_weighted_exchange_parts: slow", slow, rank_count);
        return algorithms::all_reduce_weighted_exchange_parts(
            rank_count, factors, segments_or_best(segments, rank_count, factors, relative_latency));
      },
      "rank_count"_a, "slow"_a, "segments"_a = nb::none(), nb::kw_only(),
      "relative_latency"_a = kRelativeLatency, kPartsDoc, no_gil);
  a.def(
      "reduce_scatter_weighted_exchange",
      [](int rank_count, const Factors& slow) {
        return algorithms::reduce_scatter_weighted_exchange(
            rank_count, factors_of("reduce_scatter_weighted_exchange: slow", slow, rank_count));
      },
      "rank_count"_a, "slow"_a, kReduceScatterDoc, no_gil);
  a.def(
      "all_gather_weighted_exchange",
      [](int rank_count, const Factors& slow) {
        return algorithms::all_gather_weighted_exchange(
            rank_count, factors_of("all_gather_weighted_exchange: slow", slow, rank_count));
      },
      "rank_count"_a, "slow"_a, kAllGatherDoc, no_gil);
  a.def(
      "broadcast_weighted_exchange",
      [](int rank_count, const Factors& slow, std::optional<int> segments, int root,
         double relative_latency) {
        const auto factors = factors_of("broadcast_weighted_exchange: slow", slow, rank_count);
        return algorithms::broadcast_weighted_exchange(
            rank_count, factors, segments_or_best(segments, rank_count, factors, relative_latency),
            Rank{root});
      },
      "rank_count"_a, "slow"_a, "segments"_a = nb::none(), nb::kw_only(), "root"_a = 0,
      "relative_latency"_a = kRelativeLatency, kBroadcastDoc, no_gil);
  a.def(
      "best_segment_count",
      [](int rank_count, const Factors& slow, double relative_latency) {
        return algorithms::best_segment_count(
            rank_count, factors_of("best_segment_count: slow", slow, rank_count), relative_latency);
      },
      "rank_count"_a, "slow"_a, "relative_latency"_a, kBestSegmentsDoc, no_gil);
}

void bind_optcc(nb::module_& a) {
  const nb::call_guard<nb::gil_scoped_release> no_gil;
  a.def(
      "all_reduce_optcc",
      [](int rank_count, const SlowRank& slow, std::optional<int> segments, double relative_latency) {
        const auto [rank, factor] = one_slow_rank("all_reduce_optcc: slow", slow);
        const int count =
            segments ? *segments : algorithms::best_optcc_segment_count(rank_count, factor, relative_latency);
        return algorithms::all_reduce_optcc(rank_count, Rank{rank}, factor, count);
      },
      "rank_count"_a, "slow"_a, "segments"_a = nb::none(), nb::kw_only(),
      "relative_latency"_a = kRelativeLatency, kOptccDoc, no_gil);
  a.def(
      "best_optcc_segment_count",
      [](int rank_count, const SlowRank& slow, double relative_latency) {
        const double factor = one_slow_rank("best_optcc_segment_count: slow", slow).second;
        return algorithms::best_optcc_segment_count(rank_count, factor, relative_latency);
      },
      "rank_count"_a, "slow"_a, "relative_latency"_a, kBestOptccSegmentsDoc, no_gil);
}

/// The chunk count that was asked for, the best one where size and speed are known, or one chunk per early rank.
int late_chunks(int rank_count, std::optional<int> chunk_count, std::optional<std::int64_t> nbytes,
                std::optional<double> latency_s, std::optional<double> bandwidth) {
  if (nbytes.has_value() != latency_s.has_value() || nbytes.has_value() != bandwidth.has_value())
    throw ArgumentError(
        "all_reduce_late: expected nbytes, latency_s and bandwidth together, or none of them");
  if (chunk_count) return *chunk_count;
  return nbytes ? algorithms::late_chunk_count(rank_count, *nbytes, {*latency_s, *bandwidth})
                : rank_count - 1;
}

}  // namespace

void bind_conditional_algorithms(nb::module_& m) {
  nb::module_ a = nb::borrow<nb::module_>(m.attr("algorithms"));
  const nb::call_guard<nb::gil_scoped_release> no_gil;
  a.def(
      "all_reduce_late",
      [](int rank_count, int late_rank, std::optional<int> chunk_count, std::optional<std::int64_t> nbytes,
         std::optional<double> latency_s, std::optional<double> bandwidth) {
        const int chunks = late_chunks(rank_count, chunk_count, nbytes, latency_s, bandwidth);
        return algorithms::all_reduce_late(rank_count, Rank{late_rank}, chunks);
      },
      "rank_count"_a, "late_rank"_a, "chunk_count"_a = nb::none(), nb::kw_only(), "nbytes"_a = nb::none(),
      "latency_s"_a = nb::none(), "bandwidth"_a = nb::none(), kLateDoc, no_gil);
  a.def(
      "all_reduce_late_several",
      [](int rank_count, const std::vector<int>& late_ranks, std::optional<int> chunk_count) {
        const std::vector<Rank> late(late_ranks.begin(), late_ranks.end());
        return algorithms::all_reduce_late_several(rank_count, late, chunk_count.value_or(rank_count - 1));
      },
      "rank_count"_a, "late_ranks"_a, "chunk_count"_a = nb::none(), kSeveralDoc, no_gil);
  a.def(
      "all_reduce_late_together",
      [](int rank_count, const std::vector<int>& late_ranks, std::optional<int> chunk_count) {
        const std::vector<Rank> late(late_ranks.begin(), late_ranks.end());
        const int in_time = std::max(1, rank_count - static_cast<int>(late.size()));
        return algorithms::all_reduce_late_together(rank_count, late, chunk_count.value_or(8 * in_time));
      },
      "rank_count"_a, "late_ranks"_a, "chunk_count"_a = nb::none(), kTogetherDoc, no_gil);
  a.def(
      "all_reduce_late_broadcast",
      [](int rank_count, int late_rank) {
        return algorithms::all_reduce_late_broadcast(rank_count, Rank{late_rank});
      },
      "rank_count"_a, "late_rank"_a, kLateBroadcastDoc, no_gil);
  a.def(
      "all_reduce_late_segmented",
      [](int rank_count, int late_rank, int segments, int reduced, int chunks_per_owner) {
        return algorithms::all_reduce_late_segmented(rank_count, Rank{late_rank},
                                                     {segments, reduced, chunks_per_owner});
      },
      "rank_count"_a, "late_rank"_a, nb::kw_only(), "segments"_a, "reduced"_a, "chunks_per_owner"_a = 1,
      kSegmentedDoc, no_gil);
  a.def(
      "all_reduce_stragglar",
      [](int rank_count, int late_rank) {
        return algorithms::all_reduce_stragglar(rank_count, Rank{late_rank});
      },
      "rank_count"_a, "late_rank"_a, kStragglarDoc, no_gil);
  bind_weighted_exchange(a);
  a.def(
      "all_reduce_rail_exchange",
      [](int host_count, int ranks_per_host, const Factors& slow_hosts, int segments) {
        const auto factors = factors_of("all_reduce_rail_exchange: slow_hosts", slow_hosts, host_count);
        return algorithms::all_reduce_rail_exchange({host_count, ranks_per_host}, factors, segments);
      },
      "host_count"_a, "ranks_per_host"_a, "slow_hosts"_a, "segments"_a, kRailDoc, no_gil);
  bind_optcc(a);
}

}  // namespace hemiola::bindings
