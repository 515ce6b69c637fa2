// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "hemiola/base/progress.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/distance.hpp"
#include "hemiola/bounds/ports.hpp"
#include "hemiola/bounds/problem.hpp"
#include "hemiola/bounds/quickest_flow.hpp"
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
    consider_all_ways();
    return best_;
  }

 private:
  struct Pair {
    Picoseconds time;  ///< the least, by one latency and all ports
    Rank src, dst;
    Picoseconds latency;
  };

  void consider_root(Direction direction) {
    const Vertex root{problem_.root};
    const auto latency = least_latency(problem_.topology, {&root, 1}, direction);
    for (Rank rank : indices<Rank>(problem_.rank_count())) {
      const Picoseconds between = latency[static_cast<std::size_t>(rank)];
      pairs_.push_back(direction == Direction::from_sources ? consider(problem_.root, rank, between)
                                                            : consider(rank, problem_.root, between));
    }
  }

  /// From every rank where the budget allows; else from the late ranks and rank 0, and then always on from the rank
  /// that was found farthest, which finds the two ends of most networks, until that comes to a rank again.
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
    std::vector<bool> has_been(static_cast<std::size_t>(problem_.rank_count()));
    for (Rank rank{0}; left > 0 && !has_been[static_cast<std::size_t>(rank)]; --left) {
      has_been[static_cast<std::size_t>(rank)] = true;
      parts.next();
      rank = consider_source(rank);
    }
  }

  /// Returns the rank farthest from `src`.
  Rank consider_source(Rank src) {
    const Vertex source{src};
    const auto latency = least_latency(problem_.topology, {&source, 1}, Direction::from_sources);
    Rank farthest = src;
    pairs_.push_back({0, src, src, 0});
    for (Rank dst : indices<Rank>(problem_.rank_count())) {
      const Pair pair = consider(src, dst, latency[static_cast<std::size_t>(dst)]);
      if (pair.time > pairs_.back().time) pairs_.back() = pair;
      if (latency[static_cast<std::size_t>(dst)] > latency[static_cast<std::size_t>(farthest)])
        farthest = dst;
    }
    return farthest;
  }

  /// All that dst needs of src leaves src after it has arrived and its port has taken its time for a message, at the
  /// speed of src's ports, travels, and enters dst at the speed of dst's.
  Pair consider(Rank src, Rank dst, Picoseconds latency) {
    const std::int64_t bytes = problem_.demand.from_to(src, dst);
    if (bytes == 0) return {0, src, dst, latency};
    const double bandwidth =
        std::min(out_bandwidth_[static_cast<std::size_t>(src)], in_bandwidth_[static_cast<std::size_t>(dst)]);
    const Picoseconds delay = problem_.conditions.delay_of(src);
    const Picoseconds message = message_[static_cast<std::size_t>(src)];
    const Picoseconds time = round_down(static_cast<double>(delay + message) + static_cast<double>(latency) +
                                        static_cast<double>(bytes) / bandwidth * kSecond);
    const Pair pair{time, src, dst, latency};
    if (time > best_.time)
      keep(pair, "through ports that together carry " + format_bandwidth(bandwidth) +
                     (message > 0 ? " after " + format_seconds(to_seconds(message)) + " for a message" : ""));
    return pair;
  }

  /// The same by all ways from src to dst, each as long as it is; the farthest pairs first, as far as the budget goes.
  void consider_all_ways() {
    const Topology& topology = problem_.topology;
    if (topology.vertex_count() > kUnreachable / (2 * Topology::kMaxLatency))
      return;  // delays might overflow
    std::int64_t searches = Problem::kSearchBudgetOfMany / (topology.vertex_count() + topology.link_count());
    std::stable_sort(pairs_.begin(), pairs_.end(),
                     [](const Pair& a, const Pair& b) { return a.time > b.time; });
    for (Pair pair : pairs_) {
      const std::int64_t bytes = problem_.demand.from_to(pair.src, pair.dst);
      if (bytes == 0 || searches <= 0) return;
      const auto ways = quickest_ways(problem_, pair.src, pair.dst, bytes, &searches);
      pair.time = ways.empty() ? 0 : earliest_delivery(ways, bytes);
      if (pair.time > best_.time) keep(pair, "over all ways together, each as long as it is");
    }
  }

  void keep(const Pair& pair, const std::string& by) {
    const auto name = [&](Rank rank) { return called(problem_.topology, Vertex{rank}); };
    best_.time = pair.time;
    best_.witness = format_bytes(problem_.demand.from_to(pair.src, pair.dst)) + " of " + name(pair.src) +
                    " must reach " + name(pair.dst) + ", " + format_seconds(to_seconds(pair.latency)) +
                    " away, " + by;
    if (const Picoseconds delay = problem_.conditions.delay_of(pair.src); delay > 0)
      best_.witness += ", after " + name(pair.src) + " arrives at " + format_seconds(to_seconds(delay));
  }

  const Problem& problem_;
  std::vector<double> out_bandwidth_, in_bandwidth_;
  std::vector<Picoseconds> message_;  ///< per rank, the least time of a message at its port
  std::vector<Pair> pairs_;  ///< that all ways are considered for: the farthest from each rank, or all
  Bound best_{"distance", 0, "no rank needs anything from another"};
};

}  // namespace

Bound distance_bound(const Problem& problem) {
  return DistanceBound(problem).find();
}

}  // namespace hemiola::bounds
