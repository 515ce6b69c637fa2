// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/late/stragglar.hpp"

#include <string>

#include "hemiola/algorithms/late/early_reduce.hpp"
#include "hemiola/algorithms/late/finish_chunks.hpp"
#include "hemiola/algorithms/papers.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

bool is_power_of_two(int n) {
  return (n & (n - 1)) == 0;
}

std::string why_not(const Task& task) {
  if (task.rank_count >= 4 && is_power_of_two(task.rank_count)) return "";
  return "expected a power of two of at least 4 ranks, found " + std::to_string(task.rank_count);
}

std::vector<Variant> variants(const Task& task) {
  const int early = task.rank_count - 1;
  if (!one_late_rank(task)) return {};
  return {{.formula_s = reduce_then_finish_s(task, finish_rounds(task.rank_count, early), early),
           .transfer_count = std::int64_t{2} * early * early}};
}

constexpr const char* kDoc =
    R"(StragglAR's published all-reduce with one late rank.

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
resolved where it is wrong. The loop ends at n + log2 n - 3 (line 3). Round 0 belongs to neither phase (6, 9). The late
rank and matched ranks are no free receivers (8). The critical window ends at r + log2 n - 1 (13). A window rank takes
the oldest chunk c <= rank - log2 n that some free holder outside the window has (14); it sends its own active chunk and
receives the selected one (15). Both sides are recomputed after the window's picks (10-11). An expired chunk is removed
(19). The late rank joins the holders of the last chunk from round n - 1 on.)";

}  // namespace

Schedule all_reduce_stragglar(int rank_count, Rank late_rank) {
  check_late_rank("all_reduce_stragglar", rank_count, late_rank);
  if (!is_power_of_two(rank_count))
    throw ArgumentError("all_reduce_stragglar: expected a power of two, found " + std::to_string(rank_count) +
                        " ranks; names(needs='late') lists those for other counts");
  return reduce_then_finish(stragglar_finish(rank_count), late_rank);
}

std::vector<Algorithm> stragglar_algorithms() {
  return {
      {.name = "all_reduce_stragglar",
       .kind = CollectiveKind::all_reduce,
       .paper = kStragglar,
       .idea =
           "The early ranks reduce-scatter while they wait; then they spread what the late rank completes.",
       .sizes = "powers of two from 4",
       .chunks_formula = "n-1",
       .steps_formula = "n-2+log2 n after arrival",
       .bytes_formula = "",
       .formula = "(n-2+log2 n)·(α + N/(n-1)·β) after arrival",
       .needs = Needs::late,
       .functions = {function(
           "all_reduce_stragglar", {required("rank_count"), required("late_rank")}, kDoc,
           [](int rank_count, int late_rank) { return all_reduce_stragglar(rank_count, Rank{late_rank}); })},
       .why_not = why_not,
       .variants = variants}};
}

}  // namespace hemiola::algorithms
