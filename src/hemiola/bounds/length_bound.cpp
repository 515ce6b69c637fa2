// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/length_bound.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "hemiola/base/index.hpp"

namespace hemiola::bounds {
namespace {

/// Of every vertex the nearest rank, and how far it is.
class Nearest {
 public:
  Nearest(const Topology& topology, const std::vector<double>& length)
      : rank_(at(topology.vertex_count()), -1),
        distance_(rank_.size(), std::numeric_limits<double>::infinity()) {
    std::vector<std::vector<std::pair<int, double>>> next(rank_.size());
    for (int l = 0; l < topology.link_count(); ++l) {
      const Link& link = topology.link(l);
      next[at(link.src)].emplace_back(link.dst, length[at(l)]);
      next[at(link.dst)].emplace_back(link.src, length[at(l)]);
    }
    using Reached = std::tuple<double, int, int>;  // distance, vertex, rank
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
    for (int rank = 0; rank < topology.rank_count(); ++rank) queue.emplace(0, rank, rank);
    while (!queue.empty()) {
      const auto [distance, vertex, rank] = queue.top();
      queue.pop();
      if (rank_[at(vertex)] >= 0) continue;
      rank_[at(vertex)] = rank;
      distance_[at(vertex)] = distance;
      for (const auto& [v, way] : next[at(vertex)])
        if (rank_[at(v)] < 0) queue.emplace(distance + way, v, rank);
    }
  }

  int rank(int vertex) const { return rank_[at(vertex)]; }
  double distance(int vertex) const { return distance_[at(vertex)]; }

 private:
  std::vector<int> rank_;
  std::vector<double> distance_;
};

void make_symmetric(const Topology& topology, std::vector<double>* length) {
  std::map<std::pair<int, int>, double> longest;
  const auto between = [&](int l) -> double& {
    const Link& link = topology.link(l);
    return longest[std::minmax<int>(link.src, link.dst)];
  };
  for (int l = 0; l < topology.link_count(); ++l) between(l) = std::max(between(l), (*length)[at(l)]);
  for (int l = 0; l < topology.link_count(); ++l) (*length)[at(l)] = between(l);
}

/// Of the tree that joins all ranks by shortest ways between two [mehlhorn1988].
double shortest_tree(const Topology& topology, const std::vector<double>& length) {
  const Nearest nearest(topology, length);
  std::vector<std::tuple<double, int, int>> ways;
  for (int l = 0; l < topology.link_count(); ++l) {
    const Link& link = topology.link(l);
    const int a = nearest.rank(link.src), b = nearest.rank(link.dst);
    if (a < 0 || b < 0 || a == b) continue;
    ways.emplace_back(nearest.distance(link.src) + length[at(l)] + nearest.distance(link.dst), a, b);
  }
  std::sort(ways.begin(), ways.end());
  std::vector<int> part(at(topology.rank_count()));
  std::iota(part.begin(), part.end(), 0);
  double sum = 0;
  for (const auto& [way, a, b] : ways) {
    const int joined = part[at(a)], into = part[at(b)];
    if (joined == into) continue;
    std::replace(part.begin(), part.end(), joined, into);
    sum += way;
  }
  return sum;
}

}  // namespace

double fastest_by_lengths_Bps(const Topology& topology, std::vector<double> length) {
  make_symmetric(topology, &length);
  double carried = 0;
  for (int l = 0; l < topology.link_count(); ++l) carried += topology.link(l).bandwidth_Bps * length[at(l)];
  return carried / (2 * shortest_tree(topology, length));
}

}  // namespace hemiola::bounds
