// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/joined_ways.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace hemiola {
namespace {

using Part = JoinedWays::Part;

constexpr int kNone = -1;

/// A link, or ways that were joined. `parts` have in `busy` the link's share of the bandwidth.
struct Edge {
  Link link;
  std::vector<Part> parts;

  /// What a message takes beside its bytes.
  double fixed_cost() const { return static_cast<double>(link.latency + link.message); }
  double slowness(double bytes) const {
    return fixed_cost() + bytes * static_cast<double>(kSecond) / link.bandwidth_Bps;
  }
  /// Ascending from the quickest way.
  std::pair<Picoseconds, double> cost() const { return {link.latency + link.message, -link.bandwidth_Bps}; }
};

/// One edge that stands for edges one after the other.
Edge in_series(const std::vector<const Edge*>& along) {
  Edge whole = *along[0];
  for (std::size_t i = 1; i < along.size(); ++i) {
    const Link& next = along[i]->link;
    whole.link.dst = next.dst;
    whole.link.latency = std::min(whole.link.latency + next.latency, Topology::kMaxLatency);
    whole.link.message = std::max(whole.link.message, next.message);
    whole.link.bandwidth_Bps = std::min(whole.link.bandwidth_Bps, next.bandwidth_Bps);
    whole.parts.insert(whole.parts.end(), along[i]->parts.begin(), along[i]->parts.end());
  }
  return whole;
}

/// One edge that stands for the first `count` of edges side by side, whose shares of a message arrive together. A way of
/// bandwidth b and cost c brings b (T - c) by the time T. So the whole has the mean cost, weighted by bandwidths.
Edge side_by_side(const std::vector<Edge>& ways, std::size_t count, double bytes) {
  Edge whole = ways[0];
  double latency = 0, message = 0;
  whole.link.bandwidth_Bps = 0;
  whole.parts.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const Link& way = ways[i].link;
    whole.link.bandwidth_Bps += way.bandwidth_Bps;
    latency += static_cast<double>(way.latency) * way.bandwidth_Bps;
    message += static_cast<double>(way.message) * way.bandwidth_Bps;
  }
  whole.link.latency = static_cast<Picoseconds>(std::ceil(latency / whole.link.bandwidth_Bps));
  whole.link.message = static_cast<Picoseconds>(std::ceil(message / whole.link.bandwidth_Bps));
  for (std::size_t i = 0; i < count; ++i) {
    const double in_all = ways[i].link.bandwidth_Bps / whole.link.bandwidth_Bps;
    const double early = whole.fixed_cost() - ways[i].fixed_cost();
    const double share = in_all + ways[i].link.bandwidth_Bps / static_cast<double>(kSecond) * early / bytes;
    for (Part part : ways[i].parts) {
      part.busy *= in_all;
      part.share *= share;
      whole.parts.push_back(part);
    }
  }
  return whole;
}

/// Joins ways, round by round, until none lie side by side.
class Joining {
 public:
  Joining(const Topology& topology, double message_bytes)
      : topology_(topology), message_bytes_(message_bytes) {
    for (int l = 0; l < topology.link_count(); ++l) edges_.push_back({topology.link(l), {{l, 1.0, 1.0}}});
    join_twins();
    while (join_once()) has_joined_ = true;
  }

  bool has_joined() const { return has_joined_; }
  std::vector<Edge> take() { return std::move(edges_); }

 private:
  using Path = std::vector<int>;  ///< edges one after the other

  bool is_switch(Vertex v) const { return !topology_.is_rank(v); }

  /// Gives switches that join the same ranks, each at one speed, the number of the first.
  void join_twins() {
    std::map<std::pair<std::vector<Vertex>, std::vector<Vertex>>, Vertex> first_of;
    std::vector<Vertex> number;
    for (Vertex v : indices<Vertex>(topology_.vertex_count())) {
      number.push_back(v);
      if (!is_switch(v)) continue;
      std::vector<Vertex> in, out;
      if (is_even_plane(v, &in, &out)) number.back() = first_of.try_emplace({in, out}, v).first->second;
    }
    for (Edge& edge : edges_) {
      edge.link.src = number[at(edge.link.src)];
      edge.link.dst = number[at(edge.link.dst)];
    }
  }

  /// Whether a switch joins ranks alone, all at one cost; if so, which.
  bool is_even_plane(Vertex v, std::vector<Vertex>* in, std::vector<Vertex>* out) const {
    const int* first = topology_.out_begin(v);
    if (first == topology_.out_end(v)) return false;
    const auto cost = [&](int l) {
      const Link& link = topology_.link(l);
      return std::tuple(link.latency, link.bandwidth_Bps, link.message);
    };
    const auto add = [&](const int* begin, const int* end, auto far_end, std::vector<Vertex>* ranks) {
      for (const int* l = begin; l != end; ++l) {
        ranks->push_back(far_end(topology_.link(*l)));
        if (is_switch(ranks->back()) || cost(*l) != cost(*first)) return false;
      }
      std::sort(ranks->begin(), ranks->end());
      return true;
    };
    return add(
               topology_.in_begin(v), topology_.in_end(v), [](const Link& l) { return l.src; }, in) &&
           add(first, topology_.out_end(v), [](const Link& l) { return l.dst; }, out);
  }

  bool join_once() {
    number_neighbours();
    std::map<VertexPair, std::vector<Path>> ways;
    for (Vertex u : indices<Vertex>(topology_.vertex_count())) {
      if (is_passed(u)) continue;
      for (const int e : out_[at(u)])
        if (Path path = path_from(u, e); !path.empty())
          ways[{u, edges_[at(path.back())].link.dst}].push_back(std::move(path));
    }
    std::vector<Edge> joined;
    std::vector<bool> is_gone(edges_.size());
    for (const auto& [ends, paths] : ways) {
      if (paths.size() < 2) continue;
      std::vector<Edge> edges = edges_along(paths);
      if (!are_to_be_joined(ends, paths, edges)) continue;
      joined.push_back(as_one(edges));
      for (const Path& path : paths)
        for (const int e : path) is_gone[at(e)] = true;
    }
    if (joined.empty()) return false;
    for (std::size_t e = 0; e < edges_.size(); ++e)
      if (!is_gone[e]) joined.push_back(std::move(edges_[e]));
    std::stable_sort(joined.begin(), joined.end(),
                     [](const Edge& a, const Edge& b) { return a.parts[0].link < b.parts[0].link; });
    edges_ = std::move(joined);
    return true;
  }

  void number_neighbours() {
    out_.assign(at(topology_.vertex_count()), {});
    in_.assign(at(topology_.vertex_count()), {});
    for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
      out_[at(edges_[at(e)].link.src)].push_back(e);
      in_[at(edges_[at(e)].link.dst)].push_back(e);
    }
  }

  /// Whether a switch joins two vertices, one way and back, and no more.
  bool is_passed(Vertex v) const {
    const auto& out = out_[at(v)];
    const auto& in = in_[at(v)];
    if (!is_switch(v) || out.size() != 2 || in.size() != 2) return false;
    const Vertex a = edges_[at(out[0])].link.dst, b = edges_[at(out[1])].link.dst;
    const Vertex c = edges_[at(in[0])].link.src, d = edges_[at(in[1])].link.src;
    return a != b && std::minmax(a, b) == std::minmax(c, d);
  }

  /// From a vertex by one edge on, through switches that are only passed; empty where that leads back.
  Path path_from(Vertex start, int edge) const {
    Path path{edge};
    Vertex before = start, v = edges_[at(edge)].link.dst;
    while (is_passed(v)) {
      const auto& out = out_[at(v)];
      const int next = edges_[at(out[0])].link.dst == before ? out[1] : out[0];
      path.push_back(next);
      before = v;
      v = edges_[at(next)].link.dst;
    }
    return v == start ? Path{} : path;
  }

  std::vector<Edge> edges_along(const std::vector<Path>& paths) const {
    std::vector<Edge> found;
    for (const Path& path : paths) {
      std::vector<const Edge*> along;
      for (const int e : path) along.push_back(&edges_[at(e)]);
      found.push_back(in_series(along));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Edge& a, const Edge& b) { return a.cost() < b.cost(); });
    return found;
  }

  bool are_to_be_joined(VertexPair ends, const std::vector<Path>& paths,
                        const std::vector<Edge>& edges) const {
    if (!is_switch(ends.first) || !is_switch(ends.second)) return true;
    for (const Edge& edge : edges)
      if (edge.cost() != edges[0].cost()) return true;
    return ranks_behind(ends.first, ends.second, paths) < 2 ||
           ranks_behind(ends.second, ends.first, paths) < 2;
  }

  /// How many ranks a vertex reaches but by these ways, two standing for more.
  int ranks_behind(Vertex start, Vertex other, const std::vector<Path>& paths) const {
    std::set<Vertex> seen{start, other};  // few are looked at
    for (const Path& path : paths)
      for (const int e : path) seen.insert(edges_[at(e)].link.dst);
    std::vector<Vertex> reached{start};
    int ranks = 0;
    for (std::size_t i = 0; i < reached.size() && ranks < 2; ++i) {
      if (topology_.is_rank(reached[i])) ++ranks;
      for (const int e : out_[at(reached[i])]) {
        const Vertex next = edges_[at(e)].link.dst;
        if (seen.insert(next).second) reached.push_back(next);
      }
    }
    return ranks;
  }

  /// Of the quickest ways, as many as have a message across soonest.
  Edge as_one(const std::vector<Edge>& ways) const {
    Edge best = ways[0];
    for (std::size_t count = 2; count <= ways.size(); ++count)
      if (Edge more = side_by_side(ways, count, message_bytes_);
          more.slowness(message_bytes_) < best.slowness(message_bytes_))
        best = std::move(more);
    return best;
  }

  const Topology& topology_;
  double message_bytes_;
  std::vector<Edge> edges_;
  std::vector<std::vector<int>> out_, in_;  ///< edges, per vertex
  bool has_joined_ = false;
};

/// Whether two links lead from one vertex to another, or some switch could be passed or have a twin.
bool may_have_ways_side_by_side(const Topology& topology) {
  std::vector<int> seen_from(at(topology.vertex_count()), kNone);
  for (Vertex v : indices<Vertex>(topology.vertex_count())) {
    for (const int* l = topology.out_begin(v); l != topology.out_end(v); ++l) {
      int& last = seen_from[at(topology.link(*l).dst)];
      if (last == v) return true;
      last = v;
    }
    if (!topology.is_rank(v) && topology.switch_count() > 1) return true;
  }
  return false;
}

}  // namespace

JoinedWays::JoinedWays(const Topology& topology, double message_bytes) : whole_(topology) {
  if (!may_have_ways_side_by_side(topology)) return;
  Joining joining(topology, message_bytes);
  if (!joining.has_joined()) return;
  std::vector<Link> links;
  for (Edge& edge : joining.take()) {
    for (Part& part : edge.parts)
      part.busy *= edge.link.bandwidth_Bps / topology.link(part.link).bandwidth_Bps;
    links.push_back(edge.link);
    parts_.push_back(std::move(edge.parts));
  }
  joined_.emplace(topology.name(), topology.rank_count(), topology.switch_count(), std::move(links),
                  topology.node_of_rank());
}

int JoinedWays::link_of(int joined_link) const {
  return joined_ ? parts_[at(joined_link)][0].link : joined_link;
}

std::vector<std::pair<int, double>> JoinedWays::shares_of(int joined_link) const {
  if (!joined_) return {{joined_link, 1.0}};
  std::vector<std::pair<int, double>> shares;
  for (const Part& part : parts_[at(joined_link)]) shares.emplace_back(part.link, part.share);
  return shares;
}

std::vector<Picoseconds> JoinedWays::busy_apart(const std::vector<Picoseconds>& busy) const {
  if (!joined_) return busy;
  std::vector<Picoseconds> apart(at(whole_.link_count()));
  for (std::size_t l = 0; l < busy.size(); ++l)
    for (const Part& part : parts_[l])
      apart[at(part.link)] += std::llround(static_cast<double>(busy[l]) * part.busy);
  return apart;
}

}  // namespace hemiola
