// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/length_search.hpp"
#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {
namespace {

/// All links between two vertices, in both directions together: an all-reduce goes up and down a tree.
struct Edge {
  int a;
  int b;
  double Bps;
};

std::vector<Edge> edges_of(const Problem& problem) {
  std::map<std::pair<int, int>, double> Bps;
  for (int l = 0; l < problem.topology.link_count(); ++l) {
    const Link& link = problem.topology.link(l);
    Bps[std::minmax<int>(link.src, link.dst)] += problem.bandwidth_of(l);
  }
  std::vector<Edge> edges;
  for (const auto& [ends, sum] : Bps) edges.push_back({ends.first, ends.second, sum});
  return edges;
}

std::vector<double> bandwidths(const std::vector<Edge>& edges) {
  std::vector<double> Bps;
  for (const Edge& edge : edges) Bps.push_back(edge.Bps);
  return Bps;
}

/// Of every byte a cut into p parts sees 2 (p - 1) sends from part to part. Let the parts be those that
/// shorter and shorter paths join. Then each byte goes twice along the shortest tree that joins all ranks by
/// paths between two [mehlhorn1988].
class Tree final : public LengthSearch {
 public:
  Tree(const Problem& problem, std::vector<Edge> edges)
      : LengthSearch(bandwidths(edges)),
        edges_(std::move(edges)),
        rank_count_(problem.rank_count()),
        bytes_(static_cast<double>(problem.bytes)),
        edges_at_(at(problem.topology.vertex_count())),
        distance_(edges_at_.size()),
        nearest_(edges_at_.size()),
        came_by_(edges_at_.size()),
        part_(at(rank_count_)) {
    for (int e = 0; e < static_cast<int>(edges_.size()); ++e)
      for (const int end : {edges_[at(e)].a, edges_[at(e)].b}) edges_at_[at(end)].push_back(e);
  }

 protected:
  double send(const std::vector<double>& length, std::vector<double>* carried) override {
    find_nearest(length);
    std::vector<std::pair<double, int>> ways;
    for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
      const auto [a, b, Bps] = edges_[at(e)];
      if (nearest_[at(a)] == kNone || nearest_[at(b)] == kNone || nearest_[at(a)] == nearest_[at(b)])
        continue;
      ways.emplace_back(distance_[at(a)] + length[at(e)] + distance_[at(b)], e);
    }
    std::sort(ways.begin(), ways.end());
    std::iota(part_.begin(), part_.end(), 0);
    double sum = 0;
    for (const auto& [way, e] : ways) {
      const int a = part_with(nearest_[at(edges_[at(e)].a)]), b = part_with(nearest_[at(edges_[at(e)].b)]);
      if (a == b) continue;
      part_[at(a)] = b;
      sum += way;
      use(e, carried);
    }
    return 2 * bytes_ * sum;
  }

 private:
  static constexpr int kNone = -1;

  int part_with(int rank) {
    while (part_[at(rank)] != rank) rank = part_[at(rank)] = part_[at(part_[at(rank)])];
    return rank;
  }

  int other_end(int edge, int vertex) const {
    return edges_[at(edge)].a == vertex ? edges_[at(edge)].b : edges_[at(edge)].a;
  }

  /// The way over an edge, from the rank nearest to one end to that nearest to the other.
  void use(int edge, std::vector<double>* carried) const {
    (*carried)[at(edge)] += 2 * bytes_;
    for (int vertex : {edges_[at(edge)].a, edges_[at(edge)].b})
      while (came_by_[at(vertex)] != kNone) {
        (*carried)[at(came_by_[at(vertex)])] += 2 * bytes_;
        vertex = other_end(came_by_[at(vertex)], vertex);
      }
  }

  /// Dijkstra from all ranks at once.
  void find_nearest(const std::vector<double>& length) {
    std::fill(distance_.begin(), distance_.end(), std::numeric_limits<double>::infinity());
    std::fill(nearest_.begin(), nearest_.end(), kNone);
    std::fill(came_by_.begin(), came_by_.end(), kNone);
    using Reached = std::pair<double, int>;
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
    for (int rank = 0; rank < rank_count_; ++rank) {
      distance_[at(rank)] = 0;
      nearest_[at(rank)] = rank;
      queue.emplace(0.0, rank);
    }
    while (!queue.empty()) {
      const auto [distance, vertex] = queue.top();
      queue.pop();
      if (distance > distance_[at(vertex)]) continue;
      for (const int e : edges_at_[at(vertex)]) {
        const int next = other_end(e, vertex);
        if (distance + length[at(e)] >= distance_[at(next)]) continue;
        distance_[at(next)] = distance + length[at(e)];
        nearest_[at(next)] = nearest_[at(vertex)];
        came_by_[at(next)] = e;
        queue.emplace(distance_[at(next)], next);
      }
    }
  }

  std::vector<Edge> edges_;
  int rank_count_;
  double bytes_;
  std::vector<std::vector<int>> edges_at_;
  std::vector<double> distance_;
  std::vector<int> nearest_, came_by_;  ///< per vertex: the nearest rank, the edge from there
  std::vector<int> part_;
};

/// Vertices and edges that all rounds may look at: some tens of milliseconds.
constexpr std::int64_t kMostTreeWork = 200'000;
constexpr std::int64_t kMostTreeRounds = 2000;

}  // namespace

Bound tree_bound(const Problem& problem) {
  if (problem.kind != CollectiveKind::all_reduce) return {"trees", 0, "only for an all-reduce"};
  if (problem.rank_count() < 2) return {"trees", 0, "one rank has nobody to talk to"};
  const auto rounds = static_cast<int>(std::min(
      kMostTreeRounds, kMostTreeWork / (problem.topology.vertex_count() + problem.topology.link_count())));
  if (rounds == 0) return {"trees", 0, "not searched for: too many ranks and links"};
  const double seconds = Tree(problem, edges_of(problem)).most_seconds(rounds, to_seconds(problem.known));
  return {
      "trees", round_down(seconds * static_cast<double>(kSecond) * (1 - 1e-9)),
      "each byte must go twice along the shortest tree that joins all ranks by some lengths of links, which "
      "takes all links together " +
          format_seconds(seconds)};
}

}  // namespace hemiola::bounds
