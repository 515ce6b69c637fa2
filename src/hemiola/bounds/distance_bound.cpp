// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "hemiola/base/progress.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/distance.hpp"
#include "hemiola/bounds/ports.hpp"
#include "hemiola/bounds/problem.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola::bounds {
namespace {

bool sends_to_root_only(CollectiveKind kind) {
  return kind == CollectiveKind::reduce || kind == CollectiveKind::gather;
}
bool is_sent_by_root_only(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::scatter;
}

class DistanceBound {
 public:
  explicit DistanceBound(const Problem& problem) : problem_(problem) {
    const Ports ports(problem);
    for (Rank rank : indices<Rank>(problem.rank_count())) {
      out_bandwidth_.push_back(ports.out_bandwidth(rank));
      message_.push_back(ports.least_message_out(rank));
      in_bandwidth_.push_back(ports.in_bandwidth(rank));
    }
  }

  Bound find() {
    if (sends_to_root_only(problem_.kind))
      consider_root(Direction::to_sources);
    else if (is_sent_by_root_only(problem_.kind))
      consider_root(Direction::from_sources);
    else
      consider_all_pairs();
    return best_;
  }

 private:
  void consider_root(Direction direction) {
    const Vertex root{problem_.root};
    const auto latency = least_latency(problem_.topology, {&root, 1}, direction);
    for (Rank rank : indices<Rank>(problem_.rank_count())) {
      const Picoseconds between = latency[static_cast<std::size_t>(rank)];
      if (direction == Direction::from_sources)
        consider(problem_.root, rank, between);
      else
        consider(rank, problem_.root, between);
    }
  }

  /// From every rank where the budget allows; else from the late ranks and rank 0, and then always on from the rank
  /// that was found farthest, which finds the two ends of most networks.
  void consider_all_pairs() {
    std::int64_t left = problem_.affordable_searches();
    Parts parts(static_cast<double>(std::min<std::int64_t>(left, problem_.rank_count())));
    if (left >= problem_.rank_count()) {
      for (Rank rank : indices<Rank>(problem_.rank_count())) {
        parts.next();
        consider_source(rank);
      }
      return;
    }
    for (const auto& [rank, delay] : problem_.conditions.late)
      if (left > 4) {
        parts.next();
        consider_source(rank);
        --left;
      }
    for (Rank rank{0}; left > 0; --left) {
      parts.next();
      rank = consider_source(rank);
    }
  }

  /// Returns the rank farthest from `src`.
  Rank consider_source(Rank src) {
    const Vertex source{src};
    const auto latency = least_latency(problem_.topology, {&source, 1}, Direction::from_sources);
    Rank farthest = src;
    for (Rank dst : indices<Rank>(problem_.rank_count())) {
      consider(src, dst, latency[static_cast<std::size_t>(dst)]);
      if (latency[static_cast<std::size_t>(dst)] > latency[static_cast<std::size_t>(farthest)])
        farthest = dst;
    }
    return farthest;
  }

  /// All that dst needs of src leaves src after it has arrived and its port has taken its time for a message, at the
  /// speed of src's ports, travels, and enters dst at the speed of dst's.
  void consider(Rank src, Rank dst, Picoseconds latency) {
    const std::int64_t bytes = problem_.demand.from_to(src, dst);
    if (bytes == 0) return;
    const double bandwidth =
        std::min(out_bandwidth_[static_cast<std::size_t>(src)], in_bandwidth_[static_cast<std::size_t>(dst)]);
    const Picoseconds delay = problem_.conditions.delay_of(src);
    const Picoseconds message = message_[static_cast<std::size_t>(src)];
    const Picoseconds time = round_down(static_cast<double>(delay + message) + static_cast<double>(latency) +
                                        static_cast<double>(bytes) / bandwidth * kSecond);
    if (time <= best_.time) return;
    best_.time = time;
    best_.witness = format_bytes(bytes) + " of " + called(problem_.topology, Vertex{src}) + " must reach " +
                    called(problem_.topology, Vertex{dst}) + ", " + format_seconds(to_seconds(latency)) +
                    " away, through ports that together carry " + format_bandwidth(bandwidth) +
                    (message > 0 ? " after " + format_seconds(to_seconds(message)) + " for a message" : "");
    if (delay > 0)
      best_.witness += ", after " + called(problem_.topology, Vertex{src}) + " arrives at " +
                       format_seconds(to_seconds(delay));
  }

  const Problem& problem_;
  std::vector<double> out_bandwidth_, in_bandwidth_;
  std::vector<Picoseconds> message_;  ///< per rank, the least time of a message at its port
  Bound best_{"distance", 0, "no rank needs anything from another"};
};

}  // namespace

Bound distance_bound(const Problem& problem) {
  return DistanceBound(problem).find();
}

}  // namespace hemiola::bounds
