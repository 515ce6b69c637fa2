// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/length_search.hpp"
#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {
namespace {

/// Every rank sends each other its part, by a shortest path along links.
class Exchange final : public LengthSearch {
 public:
  explicit Exchange(const Problem& problem)
      : LengthSearch(problem.bandwidth),
        problem_(problem),
        distance_(at(problem.topology.vertex_count())),
        came_by_(distance_.size()),
        through_(distance_.size()) {}

 protected:
  double send(const std::vector<double>& length, std::vector<double>* carried) override {
    double travelled = 0;
    for (Rank src : indices<Rank>(problem_.rank_count())) {
      find_ways(src, length);
      travelled += send_from(src, carried);
    }
    return travelled;
  }

 private:
  double send_from(Rank src, std::vector<double>* carried) {
    std::fill(through_.begin(), through_.end(), 0.0);
    double travelled = 0;
    for (Rank dst : indices<Rank>(problem_.rank_count())) {
      if (dst == src) continue;
      through_[at(dst)] = static_cast<double>(problem_.demand.from_to(src, dst));
      travelled += through_[at(dst)] * distance_[at(dst)];
    }
    for (std::size_t i = order_.size(); i-- > 1;) {  // bytes that go on through a vertex came to it
      const int vertex = order_[i], link = came_by_[at(vertex)];
      (*carried)[at(link)] += through_[at(vertex)];
      through_[at(problem_.topology.link(link).src)] += through_[at(vertex)];
    }
    return travelled;
  }

  /// Dijkstra; `order_` has the vertices as they were reached.
  void find_ways(Rank src, const std::vector<double>& length) {
    const Topology& topology = problem_.topology;
    std::fill(distance_.begin(), distance_.end(), std::numeric_limits<double>::infinity());
    order_.clear();
    using Reached = std::pair<double, int>;
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
    distance_[at(src)] = 0;
    queue.emplace(0.0, src);
    while (!queue.empty()) {
      const auto [distance, vertex] = queue.top();
      queue.pop();
      if (distance > distance_[at(vertex)]) continue;
      order_.push_back(vertex);
      for (const int* l = topology.out_begin(Vertex{vertex}); l != topology.out_end(Vertex{vertex}); ++l) {
        const int next = topology.link(*l).dst;
        const double way = distance + length[at(*l)];
        if (way >= distance_[at(next)]) continue;
        distance_[at(next)] = way;
        came_by_[at(next)] = *l;
        queue.emplace(way, next);
      }
    }
  }

  const Problem& problem_;
  std::vector<double> distance_;
  std::vector<int> came_by_, order_;
  std::vector<double> through_;  ///< per vertex, bytes that come to it
};

/// Ranks times vertices and links that all rounds may look at: some tens of milliseconds.
constexpr std::int64_t kMostExchangeWork = 2'000'000;
constexpr std::int64_t kMostExchangeRounds = 2000;

}  // namespace

Bound exchange_bound(const Problem& problem) {
  if (problem.kind != CollectiveKind::all_to_all)
    return {"exchange", 0, "only for an all-to-all, whose parts cannot be merged or copied"};
  if (problem.rank_count() < 2) return {"exchange", 0, "one rank has nobody to talk to"};
  const std::int64_t work = static_cast<std::int64_t>(problem.rank_count()) *
                            (problem.topology.vertex_count() + problem.topology.link_count());
  const auto rounds = static_cast<int>(std::min(kMostExchangeRounds, kMostExchangeWork / work));
  if (rounds == 0) return {"exchange", 0, "not searched for: too many ranks and links"};
  const double seconds = Exchange(problem).most_seconds(rounds, to_seconds(problem.known));
  return {"exchange", round_down(seconds * static_cast<double>(kSecond) * (1 - 1e-9)),
          "what ranks have for each other must travel the shortest ways by some lengths of links, which "
          "takes all "
          "links together " +
              format_seconds(seconds)};
}

}  // namespace hemiola::bounds
