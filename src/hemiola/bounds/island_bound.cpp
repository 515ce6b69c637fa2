// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/problem.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola::bounds {
namespace {

/// Thresholds that are tried, from the slowest links up.
constexpr std::size_t kMostThresholds = 32;

/// Ranks in parts, with the switches that go with them.
struct VertexParts {
  std::vector<int> part_of;                ///< per vertex; kNoPart for a switch of none
  std::vector<std::vector<int>> vertices;  ///< per part
  std::string name;
};
constexpr int kNoPart = -1;

VertexParts with_vertices(std::vector<int> part_of, std::string name) {
  VertexParts partition{std::move(part_of), {}, std::move(name)};
  for (std::size_t v = 0; v < partition.part_of.size(); ++v) {
    const int part = partition.part_of[v];
    if (part == kNoPart) continue;
    if (static_cast<std::size_t>(part) >= partition.vertices.size())
      partition.vertices.resize(static_cast<std::size_t>(part) + 1);
    partition.vertices[static_cast<std::size_t>(part)].push_back(static_cast<int>(v));
  }
  return partition;
}

/// The ranks of each node.
VertexParts nodes(const Problem& problem) {
  std::vector<int> part_of(static_cast<std::size_t>(problem.topology.vertex_count()), kNoPart);
  for (Rank rank : indices<Rank>(problem.rank_count()))
    part_of[static_cast<std::size_t>(rank)] = problem.topology.node_of(rank);
  return with_vertices(std::move(part_of), "nodes");
}

/// Vertices joined by links faster than a threshold, in either direction, where ranks are among them.
VertexParts islands(const Problem& problem, double threshold_Bps) {
  const Topology& topology = problem.topology;
  std::vector<int> parent(static_cast<std::size_t>(topology.vertex_count()));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int vertex) {
    while (parent[static_cast<std::size_t>(vertex)] != vertex) {
      int& above = parent[static_cast<std::size_t>(vertex)];
      above = parent[static_cast<std::size_t>(above)];
      vertex = above;
    }
    return vertex;
  };
  for (int l = 0; l < topology.link_count(); ++l)
    if (problem.bandwidth_of(l) > threshold_Bps)
      parent[static_cast<std::size_t>(root(topology.link(l).src))] = root(topology.link(l).dst);
  std::vector<int> number(parent.size(), kNoPart), part_of(parent.size(), kNoPart);
  int count = 0;
  for (Rank rank : indices<Rank>(problem.rank_count()))
    if (int& of = number[static_cast<std::size_t>(root(rank))]; of == kNoPart) of = count++;
  for (int v = 0; v < topology.vertex_count(); ++v)
    part_of[static_cast<std::size_t>(v)] = number[static_cast<std::size_t>(root(v))];
  return with_vertices(std::move(part_of), "islands of faster links");
}

/// The capacity out of a part (into it). The cut around it takes in a switch beyond if less leaves that than
/// reaches it from the part, such as a NIC that ranks share.
class Surroundings {
 public:
  Surroundings(const Problem& problem, const VertexParts& partition, bool outward)
      : problem_(problem),
        partition_(partition),
        outward_(outward),
        beyond_(partition.part_of.size()),
        inside_(beyond_.size(), kNoPart),
        seen_(beyond_.size(), kNoPart),
        to_(beyond_.size()),
        back_(beyond_.size()) {
    for (int l = 0; l < problem.topology.link_count(); ++l) beyond_[at(from(l))] += problem.bandwidth_of(l);
  }

  double capacity_around(int part) {
    std::vector<int> within, candidates;
    const auto take_in = [&](int vertex) {
      inside_[at(vertex)] = part;
      within.push_back(vertex);
      for_each_link(vertex, outward_, [&](int l) { note(&to_, to(l), part, l, &candidates); });
      for_each_link(vertex, !outward_, [&](int l) { note(&back_, from(l), part, l, &candidates); });
    };
    for (const int vertex : partition_.vertices[at(part)]) take_in(vertex);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const int s = candidates[i];
      const bool is_free = partition_.part_of[at(s)] == kNoPart && inside_[at(s)] != part;
      if (is_free && beyond_[at(s)] - back_[at(s)] < to_[at(s)]) take_in(s);
    }
    double sum = 0;
    for (const int vertex : within)
      for_each_link(vertex, outward_, [&](int l) {
        if (inside_[at(to(l))] != part) sum += problem_.bandwidth_of(l);
      });
    return sum;
  }

 private:
  int from(int l) const { return outward_ ? problem_.topology.link(l).src : problem_.topology.link(l).dst; }
  int to(int l) const { return outward_ ? problem_.topology.link(l).dst : problem_.topology.link(l).src; }

  template <typename Visit>
  void for_each_link(int vertex, bool leaving, Visit visit) const {
    const Topology& t = problem_.topology;
    const Vertex v{vertex};
    const int* end = leaving ? t.out_end(v) : t.in_end(v);
    for (const int* l = leaving ? t.out_begin(v) : t.in_begin(v); l != end; ++l) visit(*l);
  }

  /// Adds a link's bandwidth to that between a vertex and the part; changed vertices are looked at again.
  void note(std::vector<double>* sum, int vertex, int part, int link, std::vector<int>* candidates) {
    if (std::exchange(seen_[at(vertex)], part) != part) to_[at(vertex)] = back_[at(vertex)] = 0;
    (*sum)[at(vertex)] += problem_.bandwidth_of(link);
    if (partition_.part_of[at(vertex)] == kNoPart) candidates->push_back(vertex);
  }

  const Problem& problem_;
  const VertexParts& partition_;
  bool outward_;
  std::vector<double> beyond_;     ///< per vertex, the bandwidth out of it (into it)
  std::vector<int> inside_;        ///< of which part's cut the vertex is inside, the latest one
  std::vector<int> seen_;          ///< for which part the following were added up
  std::vector<double> to_, back_;  ///< between the part and the vertex, and back
};

double capacity_of(const Problem& problem, const VertexParts& partition, bool outward) {
  Surroundings surroundings(problem, partition, outward);
  double sum = 0;
  for (std::size_t part = 0; part < partition.vertices.size(); ++part)
    sum += surroundings.capacity_around(static_cast<int>(part));
  return sum;
}

/// A part is one rank that holds all its ranks' data. All but one must send a partial sum of each byte before
/// the first holds the result [patarasuk2009], and all but one receive it from another.
Bound bound_for(const Problem& problem, const VertexParts& partition) {
  const auto count = static_cast<std::int64_t>(partition.vertices.size());
  if (count < 2) return {"islands", 0, ""};
  const bool sums = problem.kind != CollectiveKind::all_gather;
  const bool copies = problem.kind != CollectiveKind::reduce_scatter;
  double Bps = std::numeric_limits<double>::infinity();
  for (const bool outward : {true, false}) Bps = std::min(Bps, capacity_of(problem, partition, outward));
  const std::int64_t times = (count - 1) * (int{sums} + int{copies});
  const double bytes = static_cast<double>(times) * static_cast<double>(problem.bytes);
  return {"islands", round_down(bytes / Bps * static_cast<double>(kSecond) * (1 - 1e-12)),
          std::to_string(count) + " " + partition.name + " must together send " + std::to_string(times) +
              " times " + format_bytes(problem.bytes) + " over links of " + format_bandwidth(Bps) +
              " in all"};
}

/// The bytes that leave each part (enter it) in an all-to-all.
std::vector<std::int64_t> exchanged_by(const Problem& problem, const VertexParts& partition, bool outward) {
  std::vector<std::int64_t> bytes(partition.vertices.size());
  for (Rank src : indices<Rank>(problem.rank_count()))
    for (Rank dst : indices<Rank>(problem.rank_count())) {
      const int from = partition.part_of[at(src)], to = partition.part_of[at(dst)];
      if (from != to) bytes[at(outward ? from : to)] += problem.demand.from_to(src, dst);
    }
  return bytes;
}

/// The blocks that leave a part, or enter it, take all its links.
Bound exchange_bound_for(const Problem& problem, const VertexParts& partition) {
  Bound worst{"islands", 0, ""};
  if (partition.vertices.size() < 2) return worst;
  for (const bool outward : {true, false}) {
    const std::vector<std::int64_t> bytes = exchanged_by(problem, partition, outward);
    Surroundings surroundings(problem, partition, outward);
    for (std::size_t part = 0; part < bytes.size(); ++part) {
      const double Bps = surroundings.capacity_around(static_cast<int>(part));
      const double seconds = static_cast<double>(bytes[part]) / Bps;
      Bound bound{"islands", round_down(seconds * static_cast<double>(kSecond) * (1 - 1e-12)), ""};
      if (bound.time <= worst.time) continue;
      bound.witness = "one of " + std::to_string(bytes.size()) + " " + partition.name + ", that of " +
                      called(problem.topology, Vertex{partition.vertices[part].front()}) + ", must " +
                      (outward ? "send " : "receive ") + format_bytes(bytes[part]) + " over links of " +
                      format_bandwidth(Bps) + " in all";
      worst = std::move(bound);
    }
  }
  return worst;
}

}  // namespace

Bound island_bound(const Problem& problem) {
  const bool is_exchange = problem.demand.has_block_sizes();
  const bool is_weighed = is_exchange || problem.kind == CollectiveKind::all_reduce ||
                          problem.kind == CollectiveKind::all_gather ||
                          problem.kind == CollectiveKind::reduce_scatter;
  if (!is_weighed) return {"islands", 0, "islands are not weighed for this collective"};
  Bound best{"islands", 0, "no links are faster than those between them"};
  const auto consider = [&](const VertexParts& partition) {
    Bound found = is_exchange ? exchange_bound_for(problem, partition) : bound_for(problem, partition);
    if (found.time > best.time) best = std::move(found);
  };
  consider(nodes(problem));
  std::vector<double> speeds = problem.bandwidth;
  std::sort(speeds.begin(), speeds.end());
  speeds.erase(std::unique(speeds.begin(), speeds.end()), speeds.end());
  for (std::size_t i = 0; i + 1 < speeds.size() && i < kMostThresholds; ++i)
    consider(islands(problem, speeds[i]));
  return best;
}

}  // namespace hemiola::bounds
