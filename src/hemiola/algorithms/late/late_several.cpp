// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/late/late_several.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "hemiola/algorithms/late/early_reduce.hpp"
#include "hemiola/algorithms/late/finish_chunks.hpp"
#include "hemiola/algorithms/papers.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

void check(const std::string& algorithm, int rank_count, const std::vector<Rank>& late_ranks,
           int chunk_count) {
  const std::string where = algorithm + ": ";
  if (late_ranks.empty()) throw ArgumentError(where + "expected at least one late rank, found none");
  for (Rank late : late_ranks) check_late_rank(algorithm.c_str(), rank_count, late);
  std::vector<Rank> sorted = late_ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw ArgumentError(where + "expected distinct late ranks, found " + std::to_string(*twice) + " twice");
  if (static_cast<int>(late_ranks.size()) > rank_count - 2)
    throw ArgumentError(where + "expected at least 2 of " + std::to_string(rank_count) +
                        " ranks in time, found " + std::to_string(late_ranks.size()) + " late ones");
  if (chunk_count < 1 || chunk_count > (1 << 20))
    throw ArgumentError(where + "expected chunk_count in 1 … 2^20, found " + std::to_string(chunk_count));
}

/// The holder of each chunk of the finish, reduced over all ranks that are here so far.
class Holders {
 public:
  Holders(const FinishInJob& finish, std::vector<Rank> in_time)
      : finish_(finish), in_time_(std::move(in_time)) {}

  /// The ranks in time reduce every chunk at its owner, or at one of them in turn while its owner is late.
  void reduce_scatter(ScheduleBuilder* builder) {
    std::size_t next = 0;
    for (Chunk c : indices<Chunk>(chunk_count())) {
      auto at = std::find(in_time_.begin(), in_time_.end(), owner(c));
      if (at == in_time_.end()) at = in_time_.begin() + static_cast<std::ptrdiff_t>(next++ % in_time_.size());
      holder_.push_back(*at);
      add_ring_reduce(builder, in_time_, static_cast<std::size_t>(at - in_time_.begin()),
                      finish_.piece(c, 0));
    }
  }

  /// One chunk a round leaves the late rank, in the order in which the finish will need them; those that it owns
  /// come to it, spread over the same rounds. Returns the first step that follows.
  int fold_in(Rank late, ScheduleBuilder* builder, int first_step) {
    int owned = 0;
    for (Chunk c : indices<Chunk>(chunk_count())) owned += owner(c) == late;
    const int rounds = std::max(chunk_count() - owned, owned);
    int sent = 0, received = 0;
    for (Chunk c : indices<Chunk>(chunk_count())) {
      Rank& holder = holder_[static_cast<std::size_t>(c)];
      if (owner(c) == late) {
        builder->reduce(Step{first_step + received++ * rounds / owned}, holder, late, finish_.piece(c, 0));
        holder = late;
      } else {
        builder->reduce(Step{first_step + sent++}, late, holder, finish_.piece(c, 0));
      }
    }
    return first_step + rounds;
  }

 private:
  int chunk_count() const { return static_cast<int>(finish_.table.owner.size()); }
  Rank owner(Chunk c) const { return finish_.rank(finish_.owner(c)); }

  const FinishInJob& finish_;
  const std::vector<Rank> in_time_;
  std::vector<Rank> holder_;
};

/// For tasks with several late ranks, at least two of them in time.
bool is_for(const Task& task) {
  const int late = static_cast<int>(task.late().size());
  return late >= 2 && task.rank_count - late >= 2;
}

std::string why_not(const Task& task) {
  const int late = static_cast<int>(task.late().size());
  if (task.rank_count - late >= 2) return too_few_ranks(task, 3);
  return "expected at least 2 of " + std::to_string(task.rank_count) + " ranks in time, found " +
         std::to_string(late) + " late ones";
}

/// How long the ranks in time reduce-scatter.
double reduced_s(const Task& task) {
  const auto in_time = static_cast<double>(task.rank_count) - static_cast<double>(task.late().size());
  return (in_time - 1) * (task.port.latency_s + task.serial_s() / in_time);
}

/// A fold takes about as long as the buffer through a port; the finish starts when the last rank and the folds before
/// it are there.
Variant one_after_another_in(const Task& task, int chunks) {
  const int n = task.rank_count;
  const auto late = task.late();
  double folded_s = reduced_s(task);
  for (std::size_t i = 0; i + 1 < late.size(); ++i)
    folded_s = std::max(folded_s, late[i].first) + task.serial_s() + chunks * task.port.latency_s;
  const double round_s = task.port.latency_s + task.serial_s() / chunks;
  return {.formula_s = std::max(folded_s, late.back().first) + finish_rounds(n, chunks) * round_s,
          .transfer_count = std::int64_t{2} * chunks * (n - 1),
          .parameter = "chunk_count",
          .count = chunks};
}

std::vector<Variant> one_after_another(const Task& task) {
  if (!is_for(task)) return {};
  std::vector<Variant> found;
  for (int chunks : good_finish_chunks(task.rank_count, task.nbytes, task.port))
    found.push_back(one_after_another_in(task, chunks));
  return found;
}

std::vector<Rank> ranks_of(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}

constexpr const char* kSeveralDoc =
    R"(All-reduce with several late ranks, folded in as they arrive.

The ranks in time reduce-scatter among themselves at once. Each late rank but the last sends its part of every chunk,
one a round, to the chunk's holder, and takes over the chunks it is to own. The last one's arrival starts the finish
that a single late rank has.

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
two at once take longer than a ring. The construction is ours.)";

Function several_function() {
  return function("all_reduce_late_several",
                  {required("rank_count"), required("late_ranks"), optional("chunk_count")}, kSeveralDoc,
                  [](int rank_count, const std::vector<int>& late_ranks, std::optional<int> chunk_count) {
                    return all_reduce_late_several(rank_count, ranks_of(late_ranks),
                                                   chunk_count.value_or(rank_count - 1));
                  });
}

}  // namespace

Schedule all_reduce_late_several(int rank_count, const std::vector<Rank>& late_ranks, int chunk_count) {
  check("all_reduce_late_several", rank_count, late_ranks, chunk_count);
  const auto table = cached_late_finish(rank_count, chunk_count);
  if (late_ranks.size() == 1) return reduce_then_finish(*table, late_ranks.front());
  const FinishInJob finish{*table, late_ranks.back(), buffer_order(table->owner)};
  std::vector<Rank> owner(static_cast<std::size_t>(chunk_count));
  for (Chunk c : indices<Chunk>(chunk_count))
    owner[static_cast<std::size_t>(finish.piece(c, 0))] = finish.rank(finish.owner(c));
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, std::move(owner)));

  const std::vector<Rank> in_time = others(rank_count, late_ranks);
  Holders holders(finish, in_time);
  holders.reduce_scatter(&builder);
  int step = static_cast<int>(in_time.size()) - 1;
  for (std::size_t i = 0; i + 1 < late_ranks.size(); ++i)
    step = holders.fold_in(late_ranks[i], &builder, step);
  add_finish(&builder, finish, step);
  return builder.finish();
}

std::vector<Algorithm> late_several_algorithms() {
  return {
      {.name = "all_reduce_late_several",
       .kind = CollectiveKind::all_reduce,
       .paper = kTraff,
       .idea =
           "The ranks in time reduce-scatter; each late rank adds its part as it comes and takes over the "
           "chunks it owns; the last one starts the finish of a single late rank.",
       .sizes = "any n ≥ 3, two in time",
       .chunks_formula = "K, by default n-1",
       .steps_formula = "⌈log2 n⌉-1+K after the last arrival",
       .bytes_formula = "",
       .formula = "(⌈log2 n⌉-1+K)·(α + N/K·β) after the last arrival",
       .needs = Needs::late,
       .functions = {several_function()},
       .why_not = why_not,
       .variants = one_after_another},
  };
}

}  // namespace hemiola::algorithms
