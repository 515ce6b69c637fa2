#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "hemiola/base/units.hpp"
#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {
namespace {

/// Thresholds that are tried, from the slowest links up.
constexpr std::size_t kMostThresholds = 32;

/// Vertices joined by links faster than a threshold, in either direction.
class Islands {
 public:
  Islands(const Problem& problem, double threshold_Bps)
      : parent_(static_cast<std::size_t>(problem.topology.vertex_count())) {
    std::iota(parent_.begin(), parent_.end(), 0);
    const Topology& topology = problem.topology;
    for (int l = 0; l < topology.link_count(); ++l)
      if (problem.bandwidth_of(l) > threshold_Bps)
        parent_[at(root(topology.link(l).src))] = root(topology.link(l).dst);
    has_rank_.assign(parent_.size(), false);
    for (Rank rank : indices<Rank>(problem.rank_count())) has_rank_[at(root(rank))] = true;
  }

  int with_ranks() const { return static_cast<int>(std::count(has_rank_.begin(), has_rank_.end(), true)); }
  bool leaves(const Link& link) { return has_rank_[at(root(link.src))] && root(link.src) != root(link.dst); }
  bool enters(const Link& link) { return has_rank_[at(root(link.dst))] && root(link.src) != root(link.dst); }

 private:
  static std::size_t at(int vertex) { return static_cast<std::size_t>(vertex); }
  int root(int vertex) {
    while (parent_[at(vertex)] != vertex) {
      parent_[at(vertex)] = parent_[at(parent_[at(vertex)])];
      vertex = parent_[at(vertex)];
    }
    return vertex;
  }

  std::vector<int> parent_;
  std::vector<bool> has_rank_;
};

/// An island is one rank that holds what its ranks do: of each byte all but one must send a partial sum before the
/// first holds the result, and all others receive it later [patarasuk2009].
Bound bound_for(const Problem& problem, Islands islands) {
  const int count = islands.with_ranks();
  double out_Bps = 0, in_Bps = 0;
  for (int l = 0; l < problem.topology.link_count(); ++l) {
    if (islands.leaves(problem.topology.link(l))) out_Bps += problem.bandwidth_of(l);
    if (islands.enters(problem.topology.link(l))) in_Bps += problem.bandwidth_of(l);
  }
  if (count < 2) return {"islands", 0, ""};
  const double bytes = 2.0 * (count - 1) * static_cast<double>(problem.bytes),
               Bps = std::min(out_Bps, in_Bps);
  return {"islands", round_down(bytes / Bps * static_cast<double>(kSecond) * (1 - 1e-12)),
          std::to_string(count) + " islands of faster links must together send " +
              std::to_string(2 * (count - 1)) + " times " + format_bytes(problem.bytes) + " over links of " +
              format_bandwidth(Bps) + " in all"};
}

}  // namespace

Bound island_bound(const Problem& problem) {
  Bound best{"islands", 0, "no links are faster than those between them"};
  if (problem.kind != CollectiveKind::all_reduce)
    return {"islands", 0, "islands are weighed for an all_reduce only"};
  std::vector<double> speeds = problem.bandwidth;
  std::sort(speeds.begin(), speeds.end());
  speeds.erase(std::unique(speeds.begin(), speeds.end()), speeds.end());
  for (std::size_t i = 0; i + 1 < speeds.size() && i < kMostThresholds; ++i)
    if (Bound found = bound_for(problem, Islands(problem, speeds[i])); found.time > best.time)
      best = std::move(found);
  return best;
}

}  // namespace hemiola::bounds
