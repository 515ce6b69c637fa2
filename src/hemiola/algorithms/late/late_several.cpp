#include "hemiola/algorithms/late/late_several.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

/// Who holds each chunk of the finish, reduced over all ranks that are here so far.
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

/// Chunks that belong to the ranks in time in turn: a turn is one chunk each. Ranks stand in a circle, those in
/// time first, then the late ones, and in round r of a turn each sends to the r-th behind it:
///
///     who sends, to    a rank in time                                a late rank
///     in time          its chunk of this turn, which is complete     the same
///     late             its part of the receiver's chunk of the next  nothing
///
/// So every port in time is busy in every round, in both directions, and a chunk has all late parts when its turn
/// comes.
class Turns {
 public:
  Turns(std::vector<Rank> in_time, std::vector<Rank> late_ranks, int chunk_count)
      : early_count_(static_cast<int>(in_time.size())),
        chunk_count_(chunk_count),
        circle_(std::move(in_time)) {
    circle_.insert(circle_.end(), late_ranks.begin(), late_ranks.end());
  }

  int count() const { return (chunk_count_ + early_count_ - 1) / early_count_; }
  int owner(Chunk c) const { return c % early_count_; }
  Rank rank(int place) const { return circle_[static_cast<std::size_t>(place)]; }

  /// Late parts for the first turn, which takes no more rounds than there are ranks in time.
  int begin(ScheduleBuilder* builder, int first_step) const {
    for (int round = 0; round < early_count_; ++round)
      for (int late = early_count_; late < rank_count(); ++late)
        add_part(builder, first_step + round, late, (round + late) % early_count_, 0);
    return first_step + early_count_;
  }

  int run(ScheduleBuilder* builder, int turn, int first_step) const {
    for (int round = 1; round < rank_count(); ++round)
      for (int from = 0; from < rank_count(); ++from) {
        const int to = (from + round) % rank_count(), step = first_step + round - 1;
        if (from < early_count_) {
          if (const auto c = chunk(from, turn)) builder->copy(Step{step}, rank(from), rank(to), *c);
        } else if (to < early_count_) {
          add_part(builder, step, from, to, turn + 1);
        }
      }
    return first_step + rank_count() - 1;
  }

 private:
  int rank_count() const { return static_cast<int>(circle_.size()); }
  std::optional<Chunk> chunk(int owner, int turn) const {
    const int number = turn * early_count_ + owner;
    return number < chunk_count_ ? std::optional(Chunk{number}) : std::nullopt;
  }
  void add_part(ScheduleBuilder* builder, int step, int late, int owner, int turn) const {
    if (const auto c = chunk(owner, turn)) builder->reduce(Step{step}, rank(late), rank(owner), *c);
  }

  int early_count_;
  int chunk_count_;
  std::vector<Rank> circle_;
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

/// In as many turns as balance a latency for each message with what the first and last turn keep waiting.
std::vector<Variant> all_at_once(const Task& task) {
  if (!is_for(task)) return {};
  const int n = task.rank_count, in_time = n - static_cast<int>(task.late().size());
  const double most = static_cast<double>(kMostFinishChunks) / in_time;
  const double balance = task.port.latency_s > 0
                             ? std::sqrt(task.serial_s() / ((n - 1) * task.port.latency_s))
                             : std::numeric_limits<double>::infinity();
  const int turns = std::max(1, static_cast<int>(std::nearbyint(std::min(balance, most))));
  const int chunks = in_time * turns, rounds = in_time + turns * (n - 1);
  const double round_s = task.port.latency_s + task.serial_s() / chunks;
  return {{.formula_s = std::max(reduced_s(task), task.delay_s()) + rounds * round_s,
           .transfer_count = std::int64_t{2} * chunks * (n - 1),
           .parameter = "chunk_count",
           .count = chunks}};
}

std::vector<Rank> ranks_of(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}

constexpr const char* kSeveralDoc =
    R"(All-reduce with several late ranks, folded in as they arrive.

The ranks in time reduce-scatter among themselves at once. Each late rank but the last sends its part of every
chunk, one a round, to whoever holds the chunk, and takes over the chunks it is to own. The last one's arrival
starts the finish that a single late rank has.

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
chunks take (n-1)/(n-k)·sβ, 1.17 for two of eight. No schedule takes less than (n-1+k)/n·sβ where nothing reaches a
rank that has not come, as so much must still pass the ports once the others have reduced; a ring takes 2(n-1)/n·sβ,
so this pays while fewer than half of the ranks are late. The construction is ours.)";

Function several_function() {
  return function("all_reduce_late_several",
                  {required("rank_count"), required("late_ranks"), optional("chunk_count")}, kSeveralDoc,
                  [](int rank_count, const std::vector<int>& late_ranks, std::optional<int> chunk_count) {
                    return all_reduce_late_several(rank_count, ranks_of(late_ranks),
                                                   chunk_count.value_or(rank_count - 1));
                  });
}

Function together_function() {
  return function(
      "all_reduce_late_together", {required("rank_count"), required("late_ranks"), optional("chunk_count")},
      kTogetherDoc, [](int rank_count, const std::vector<int>& late_ranks, std::optional<int> chunk_count) {
        const int in_time = std::max(1, rank_count - static_cast<int>(late_ranks.size()));
        return all_reduce_late_together(rank_count, ranks_of(late_ranks), chunk_count.value_or(8 * in_time));
      });
}

}  // namespace

Schedule all_reduce_late_together(int rank_count, const std::vector<Rank>& late_ranks, int chunk_count) {
  check("all_reduce_late_together", rank_count, late_ranks, chunk_count);
  const std::vector<Rank> in_time = others(rank_count, late_ranks);
  const Turns turns(in_time, late_ranks, chunk_count);
  std::vector<Rank> owner;
  for (Chunk c : indices<Chunk>(chunk_count)) owner.push_back(turns.rank(turns.owner(c)));
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count, std::move(owner)));
  for (Chunk c : indices<Chunk>(chunk_count))
    add_ring_reduce(&builder, in_time, static_cast<std::size_t>(turns.owner(c)), c);
  int step = turns.begin(&builder, static_cast<int>(in_time.size()) - 1);
  for (int turn = 0; turn < turns.count(); ++turn) step = turns.run(&builder, turn, step);
  return builder.finish();
}

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
      {.name = "all_reduce_late_together",
       .kind = CollectiveKind::all_reduce,
       .paper = kStragglar,
       .idea =
           "The ranks in time reduce-scatter; then late ranks, who come together, hand them their parts of "
           "the next chunks while they hand out what is complete.",
       .sizes = "any n ≥ 3, two in time",
       .chunks_formula = "K, by default 8(n-k)",
       .steps_formula = "n-k + ⌈K/(n-k)⌉(n-1) after the last arrival",
       .bytes_formula = "",
       .formula = "(n-k + K(n-1)/(n-k))·(α + N/K·β) after the last of k arrivals",
       .needs = Needs::late,
       .functions = {together_function()},
       .why_not = why_not,
       .variants = all_at_once},
  };
}

}  // namespace hemiola::algorithms
