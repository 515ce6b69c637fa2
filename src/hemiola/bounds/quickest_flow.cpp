// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/quickest_flow.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "hemiola/bounds/distance.hpp"

namespace hemiola::bounds {
namespace {

constexpr int kNone = -1;

/// A flow in whole bytes a second, which grows by the shortest way at each call of `next`.
class Ways {
 public:
  Ways(const Problem& problem, Rank src, Rank dst)
      : src_(src), dst_(dst), arcs_of_(at(problem.topology.vertex_count())) {
    for (int l = 0; l < problem.topology.link_count(); ++l) {
      const Link& link = problem.topology.link(l);
      const Picoseconds delay = link.latency + (link.src == src ? link.message : 0);
      add_arc(link.src, link.dst, delay, static_cast<std::int64_t>(std::ceil(problem.bandwidth_of(l))));
      add_arc(link.dst, link.src, -delay, 0);
    }
  }

  /// The next way; one of no bandwidth where there is none.
  Window next() {
    find_shortest();
    if (came_by_[at(dst_)] == kNone) return {0, 0, 0};
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (int v = dst_; v != src_; v = arcs_[at(came_by_[at(v)] ^ 1)].to)
      most = std::min(most, arcs_[at(came_by_[at(v)])].left);
    for (int v = dst_; v != src_; v = arcs_[at(came_by_[at(v)] ^ 1)].to) {
      arcs_[at(came_by_[at(v)])].left -= most;
      arcs_[at(came_by_[at(v)] ^ 1)].left += most;
    }
    return {static_cast<double>(most), 0, delay_[at(dst_)]};
  }

 private:
  struct Arc {
    int to;
    Picoseconds delay;
    std::int64_t left;  ///< the reverse arc is the number beside it
  };

  void add_arc(int from, int to, Picoseconds delay, std::int64_t left) {
    arcs_of_[at(from)].push_back(static_cast<int>(arcs_.size()));
    arcs_.push_back({to, delay, left});
  }

  /// Bellman and Ford's, by a queue: reverse arcs have negative delays.
  void find_shortest() {
    delay_.assign(arcs_of_.size(), kUnreachable);
    came_by_.assign(arcs_of_.size(), kNone);
    std::vector<bool> waits(arcs_of_.size());
    std::deque<int> queue{src_};
    delay_[at(src_)] = 0;
    while (!queue.empty()) {
      const int v = queue.front();
      queue.pop_front();
      waits[at(v)] = false;
      for (const int a : arcs_of_[at(v)]) {
        const Arc& arc = arcs_[at(a)];
        if (arc.left == 0 || delay_[at(v)] + arc.delay >= delay_[at(arc.to)]) continue;
        delay_[at(arc.to)] = delay_[at(v)] + arc.delay;
        came_by_[at(arc.to)] = a;
        if (!waits[at(arc.to)]) queue.push_back(arc.to);
        waits[at(arc.to)] = true;
      }
    }
  }

  int src_, dst_;
  std::vector<Arc> arcs_;
  std::vector<std::vector<int>> arcs_of_;
  std::vector<Picoseconds> delay_;
  std::vector<int> came_by_;
};

}  // namespace

std::vector<Window> quickest_ways(const Problem& problem, Rank src, Rank dst, std::int64_t bytes,
                                  std::int64_t* searches) {
  Ways ways(problem, src, dst);
  std::vector<Window> found;
  while ((*searches)-- > 0) {
    Window way = ways.next();
    way.from = problem.conditions.delay_of(src);
    if (way.bandwidth_Bps == 0) return found;
    found.push_back(way);
    if (earliest_delivery(found, bytes) <= sum_of(way.from, way.delay)) return found;
  }
  return {};
}

}  // namespace hemiola::bounds
