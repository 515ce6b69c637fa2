// The pipeline advances by windows. In window w the edge of the healthy ring from place -w to the next rests: its
// sender sends to the slow rank and its receiver receives from it, which takes both as long as two hops, or longer.
// Every other edge carries a section on its way to its owner in the first half of the window, a result on its way
// round in the second. Counted from the resting edge, which moves back by one edge a window, what makes one hop a
// window gains two edges. So of a ring's edges each section, and each result, takes
//
//   2, 4 … size-1, 1, 3 … size-2                    on a ring of odd size,
//   1, 3 … size-1, none for a window, 2, 4 … size-2 on one of even size:
//
// every edge once and never the resting one, 0. In each window each edge therefore has one section and one result, and
// no port waits. Between two hops of a section lies the other half of a window, in which the first one's latency passes.
#include "hemiola/algorithms/optcc.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/algorithms/ownership.hpp"
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

  /// What the slow rank sends and receives. Its own section of a segment comes to it raw during that segment and
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
  std::int64_t slow_weight_ = 0;     ///< of what the slow rank owns of a segment
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

}  // namespace hemiola::algorithms
