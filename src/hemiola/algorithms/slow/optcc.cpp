// SPDX-License-Identifier: Apache-2.0
// The pipeline advances by windows. In window w the edge of the healthy ring from place -w to the next rests: its
// sender sends to the slow rank and its receiver receives from it, which takes both as long as two hops, or longer.
// Every other edge carries a section on its way to its owner in the first half of the window, a result on its way
// round in the second. Counted from the resting edge, which moves back by one edge a window, a part that
// makes one hop a window gains two edges. So of a ring's edges each section, and each result, takes
//
//   2, 4 … size-1, 1, 3 … size-2                    on a ring of odd size,
//   1, 3 … size-1, none for a window, 2, 4 … size-2 on one of even size:
//
// every edge once and never the resting one, 0. In each window each edge therefore has one section and one result, and
// no port waits. Between two hops of a section lies the other half of a window, in which the first one's latency passes.
#include "hemiola/algorithms/slow/optcc.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hemiola/algorithms/index/ownership.hpp"
#include "hemiola/algorithms/papers.hpp"
#include "hemiola/algorithms/slow/segments.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

class RingPipeline {
 public:
  RingPipeline(int rank_count, Rank slow, double factor, int segments)
      : size_(rank_count - 1), slow_(slow), segments_(segments) {
    const auto weight = ownership_weights({1.0, factor});
    healthy_weight_ = weight[0];
    slow_weight_ = weight[1];
  }

  Schedule schedule() const {
    ScheduleBuilder builder = builder_of_chunks();
    for (int section = 0; section < section_count(); ++section) {
      add_hops_to_owner(&builder, section);
      add_hops_round(&builder, section);
    }
    for (int window = 0; window < section_count() + size_; ++window) add_slow_messages(&builder, window);
    return builder.finish();
  }

 private:
  bool is_even() const { return size_ % 2 == 0; }
  int section_count() const { return segments_ * size_; }

  /// A segment is one section per healthy rank, and one of the slow rank where that owns any.
  bool slow_owns() const { return slow_weight_ > 0; }
  Chunk section_chunk(int section) const { return Chunk{section + (slow_owns() ? section / size_ : 0)}; }
  Chunk slow_chunk(int segment) const { return Chunk{segment * (size_ + 1) + size_}; }

  Rank at(int place) const {
    const int index = ((place % size_) + size_) % size_;
    return Rank{index < slow_ ? index : index + 1};
  }
  /// A section's owner receives from the slow rank in the window of the section's number, and sends to it when the
  /// edge that leaves the owner rests, size - 1 windows later.
  static int owner_place(int section) { return 1 - section; }
  int returned_in(int window) const { return window - (size_ - 1); }

  /// On an even ring the first hop is made in the window before the slow rank's first message.
  Step step(int window, int half) const { return Step{2 * (window + (is_even() ? 1 : 0)) + half}; }
  /// The step in which a section, on the i-th of its size - 1 hops, leaves place owner + i for its owner.
  Step step_to_owner(int section, int i) const {
    const bool before_pause = is_even() && i <= size_ / 2;
    return step(section + i - (before_pause ? 2 : 1), 0);
  }
  /// The step in which its result leaves place owner + i.
  Step step_round(int section, int i) const {
    const bool before_pause = is_even() && i < size_ / 2;
    return step(section + size_ + i + (before_pause ? 0 : 1), 1);
  }

  void add_hops_to_owner(ScheduleBuilder* builder, int section) const {
    const int owner = owner_place(section);
    for (int i = 1; i < size_; ++i)
      builder->reduce(step_to_owner(section, i), at(owner + i), at(owner + i + 1), section_chunk(section));
  }
  void add_hops_round(ScheduleBuilder* builder, int section) const {
    const int owner = owner_place(section);
    for (int i = 0; i + 1 < size_; ++i)
      builder->copy(step_round(section, i), at(owner + i), at(owner + i + 1), section_chunk(section));
  }

  /// The slow rank's sends and receives. Its own section of a segment comes to it raw during that segment and
  /// leaves during the next.
  void add_slow_messages(ScheduleBuilder* builder, int window) const {
    const Step now = step(window, 0);
    const Rank sender = at(-window), receiver = at(1 - window);
    const int returned = returned_in(window), segment = window / size_;
    if (window < section_count()) builder->reduce(now, slow_, receiver, section_chunk(window));
    if (returned >= 0 && returned < section_count())
      builder->copy(now, sender, slow_, section_chunk(returned));
    if (!slow_owns()) return;
    if (segment < segments_) builder->reduce(now, sender, slow_, slow_chunk(segment));
    if (segment > 0) builder->copy(now, slow_, receiver, slow_chunk(segment - 1));
  }

  ScheduleBuilder builder_of_chunks() const {
    std::vector<Rank> owner;
    std::vector<std::int64_t> weight;
    const auto add = [&](Rank rank, std::int64_t of_rank) {
      owner.push_back(rank);
      weight.push_back(of_rank);
    };
    for (int section = 0; section < section_count(); ++section) {
      add(at(owner_place(section)), healthy_weight_);
      if (slow_owns() && (section + 1) % size_ == 0) add(slow_, slow_weight_);
    }
    ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, size_ + 1, std::move(owner)));
    builder.set_chunk_weights(std::move(weight));
    return builder;
  }

  int size_;
  Rank slow_;
  int segments_;
  std::int64_t healthy_weight_ = 1;  ///< of a section
  std::int64_t slow_weight_ = 0;     ///< of the slow rank's share of a segment
};

void check_cluster(const std::string& where, int rank_count, double factor) {
  if (rank_count < 3)
    throw ArgumentError(where + "expected at least 3 ranks, found " + std::to_string(rank_count));
  if (!std::isfinite(factor) || factor < 1)
    throw ArgumentError(where + "expected a finite slowdown >= 1, found " + std::to_string(factor));
}

/// The pipeline is less than segments + 3 turns of rank_count - 1 windows of two steps.
std::int64_t most_segments(int rank_count) {
  return ScheduleBuilder::kMaxSteps / (2 * (std::int64_t{rank_count} - 1)) - 3;
}

std::string why_not(const Task& task) {
  if (task.rank_count < 3) return too_few_ranks(task, 3);
  const std::size_t slow = task.conditions.slow.size();
  return slow == 1 ? "" : "expected 1 slow rank, found " + std::to_string(slow);
}

/// The one rank that `slow` names, and its factor.
std::pair<int, double> one_slow_rank(const char* what, const RankOrFactors& slow) {
  constexpr double kOwnsNothing = 2.0;
  if (const int* rank = std::get_if<int>(&slow)) return {*rank, kOwnsNothing};
  const auto& factors = std::get<Factors>(slow);
  if (factors.size() != 1)
    throw ArgumentError(std::string(what) + " names " + std::to_string(factors.size()) +
                        " ranks, expected 1; names(needs='slow') lists algorithms that take several");
  return *factors.begin();
}

constexpr const char* kDoc =
    R"(OptCC's four stages on a ring of the healthy ranks.

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
result goes back to the slow rank and round the ring [OptCC, §4.1]. Below a factor l of 2 the slow rank owns (2 - l)/l
of a healthy rank's share [OptCC, Appendix C]. One rotating pattern instead of the paper's four. Bandwidth only, k
segments: at most (k + 1.5 - 1/(n-1))/k of the bound, which an even rank count n takes at l = 2 and k >= 3. Healthy
ranks send to the next one and the slow one only: for networks in which only neighbours are near;
all_reduce_weighted_exchange is faster where all pairs are.)";

constexpr const char* kBestSegmentsDoc =
    R"(Choose how many segments all_reduce_optcc is pipelined in.

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
every hop waits for it. Latencies are then paid while the pipeline fills and empties, for any count. The first term
weighs the 1.5/k for that against one latency a segment (a ring of two healthy ranks pays it) for other costs of a
message.)";

Function make_function() {
  return function(
      "all_reduce_optcc",
      {required("rank_count"), required("slow"), optional("segments"),
       keyword(optional("relative_latency", kRelativeLatency))},
      kDoc,
      [](int rank_count, const RankOrFactors& slow, std::optional<int> segments, double relative_latency) {
        const auto [rank, factor] = one_slow_rank("all_reduce_optcc: slow", slow);
        const int count =
            segments ? *segments : best_optcc_segment_count(rank_count, factor, relative_latency);
        return all_reduce_optcc(rank_count, Rank{rank}, factor, count);
      });
}

Function best_segments_function() {
  return function("best_optcc_segment_count",
                  {required("rank_count"), required("slow"), required("relative_latency")}, kBestSegmentsDoc,
                  [](int rank_count, const RankOrFactors& slow, double relative_latency) -> std::int64_t {
                    const double factor = one_slow_rank("best_optcc_segment_count: slow", slow).second;
                    return best_optcc_segment_count(rank_count, factor, relative_latency);
                  });
}

}  // namespace

Schedule all_reduce_optcc(int rank_count, Rank slow_rank, double factor, int segments) {
  const std::string where = "all_reduce_optcc: ";
  check_cluster(where, rank_count, factor);
  if (slow_rank < 0 || slow_rank >= rank_count)
    throw ArgumentError(where + "expected a slow rank in 0 … " + std::to_string(rank_count - 1) + ", found " +
                        std::to_string(slow_rank));
  if (segments < 1 || segments > most_segments(rank_count))
    throw ArgumentError(where + "expected segments in 1 … " + std::to_string(most_segments(rank_count)) +
                        " for " + std::to_string(rank_count) + " ranks, found " + std::to_string(segments));
  return RingPipeline(rank_count, slow_rank, factor, segments).schedule();
}

int best_optcc_segment_count(int rank_count, double factor, double relative_latency) {
  const std::string where = "best_optcc_segment_count: ";
  check_cluster(where, rank_count, factor);
  if (!std::isfinite(relative_latency) || relative_latency <= 0)
    throw ArgumentError(where + "expected a finite relative_latency > 0, found " +
                        std::to_string(relative_latency));
  // A segment is so many sections; a section's hop takes 1/(k · sections), a window `window` times that.
  const double sections = rank_count - 1 + std::max(0.0, 2 / factor - 1);
  const double window = std::max(factor, 2.0);
  const double bound = window * (rank_count - 1) / sections;
  const double hidden = (window - 1) / (sections * relative_latency);
  const double k = std::min(std::sqrt(1.5 * bound / relative_latency), hidden);
  return static_cast<int>(std::clamp(std::round(k), 1.0, 4096.0));
}

std::vector<Algorithm> optcc_algorithms() {
  return {{.name = "all_reduce_optcc",
           .kind = CollectiveKind::all_reduce,
           .paper = kOptcc,
           .idea =
               "A section's parts travel round the ring of the healthy ranks to its owner, the slow rank's "
               "straight there; the result goes back both ways.",
           .sizes = "any n ≥ 3",
           .chunks_formula = "K(n-1), Kn for a factor below 2",
           .steps_formula = "",
           .bytes_formula = "",
           .formula = "l(K+1.5-1/(n-1))/K·N·β at most for one slow rank of factor l ≥ 2, bandwidth only",
           .needs = Needs::slow,
           .functions = {make_function(), best_segments_function()},
           .why_not = why_not}};
}

}  // namespace hemiola::algorithms
