#include "hemiola/schedule/routes.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/topology/host_links.hpp"
#include "hemiola/topology/sides.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola {
namespace {

constexpr int kUnreached = -1;

struct Distance {
  int hops = kUnreached;
  int hops_between_hosts = 0;
  Picoseconds latency = 0;
  double seconds_per_byte = 0;

  Distance beyond(const Link& link, bool is_between_hosts) const {
    constexpr Picoseconds longest = std::numeric_limits<Picoseconds>::max();  // sums of days end here
    const Picoseconds sum = latency < longest - link.latency ? latency + link.latency : longest;
    return {hops + 1, hops_between_hosts + is_between_hosts, sum, seconds_per_byte + 1 / link.bandwidth_Bps};
  }
  bool is_reached() const { return hops != kUnreached; }
  friend bool operator==(const Distance&, const Distance&) = default;
  friend bool operator<(const Distance& a, const Distance& b) {
    const auto key = [](const Distance& d) {
      return std::tie(d.hops, d.hops_between_hosts, d.latency, d.seconds_per_byte);
    };
    return key(a) < key(b);
  }
};

/// Breadth-first search from one rank after another, with arrays that are reused.
class Search {
 public:
  explicit Search(const Topology& topology)
      : topology_(topology), reach_(static_cast<std::size_t>(topology.vertex_count())) {
    const bool has_hosts = topology.node_count() > 1 && topology.node_count() < topology.rank_count();
    if (has_hosts) between_hosts_ = links_between_hosts(topology);
  }

  /// Distances from `src` to everything at most as many hops away as the farthest of `wanted`. Returns how many vertices
  /// that are.
  std::size_t run(Rank src, std::span<const RankPair> wanted) {
    for (Vertex v : reached_) at(v).distance = Distance{};
    reached_.assign(1, Vertex{src});
    at(Vertex{src}).distance.hops = 0;
    std::size_t level_begin = 0, wanted_reached = 0;
    while (level_begin < reached_.size()) {
      while (wanted_reached < wanted.size() && reaches(wanted[wanted_reached].dst)) ++wanted_reached;
      if (wanted_reached == wanted.size()) break;
      const std::size_t level_end = reached_.size();
      for (std::size_t i = level_begin; i < level_end; ++i) relax_links_of(reached_[i]);
      level_begin = level_end;
    }
    return reached_.size();
  }

  bool reaches(Rank dst) const { return reach_[static_cast<std::size_t>(dst)].distance.is_reached(); }

  std::vector<bool> ranks_reached() const {
    std::vector<bool> reached;
    for (Rank rank : indices<Rank>(topology_.rank_count())) reached.push_back(reaches(rank));
    return reached;
  }

  /// Appends the links from the search's source to `dst`, first to last.
  void append_path(Rank src, Rank dst, std::vector<int>* links) {
    const auto begin = static_cast<std::ptrdiff_t>(links->size());
    for (Vertex v{dst}; v != Vertex{src};) {
      links->push_back(choose_link_into(v, src + dst));
      v = topology_.link(links->back()).src;
    }
    std::reverse(links->begin() + begin, links->end());
  }

 private:
  struct Reach {
    Distance distance;
    std::vector<int> links;  ///< the last links of all shortest paths, as they were found
  };

  bool is_between_hosts(int link) const {
    return !between_hosts_.empty() && between_hosts_[static_cast<std::size_t>(link)];
  }
  Reach& at(Vertex v) { return reach_[static_cast<std::size_t>(v)]; }

  void relax_links_of(Vertex v) {
    for (const int* l = topology_.out_begin(v); l != topology_.out_end(v); ++l) {
      const Link& link = topology_.link(*l);
      const Distance candidate = at(v).distance.beyond(link, is_between_hosts(*l));
      Reach& far = at(link.dst);
      if (!far.distance.is_reached()) reached_.push_back(link.dst);
      if (!far.distance.is_reached() || candidate < far.distance) {
        far.distance = candidate;
        far.links.clear();
      }
      if (candidate == far.distance) far.links.push_back(*l);
    }
  }

  /// Switches and parallel links take turns; ranks that relay do not.
  int choose_link_into(Vertex v, int turn) {
    const std::vector<int>& links = at(v).links;
    if (links.size() == 1) return links[0];
    const Vertex first = topology_.link(links[0]).src;
    const bool any_switch = !topology_.is_rank(first);
    const auto takes_part = [&](int l) {
      const Vertex from = topology_.link(l).src;
      return any_switch ? !topology_.is_rank(from) : from == first;
    };
    auto left = turn % std::count_if(links.begin(), links.end(), takes_part);
    return *std::find_if(links.begin(), links.end(), [&](int l) { return takes_part(l) && left-- == 0; });
  }

  const Topology& topology_;
  std::vector<bool> between_hosts_;  ///< by link; empty where no host has several ranks beside others
  std::vector<Reach> reach_;
  std::vector<Vertex> reached_;
};

}  // namespace

Routes::Routes(const Topology& topology, std::span<const RankPair> pairs) {
  routes_.reserve(pairs.size());
  links_.reserve(pairs.size());
  Search search(topology);
  for (std::size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {  // pairs are sorted by src
    const Rank src = pairs[begin].src;
    while (end < pairs.size() && pairs[end].src == src) ++end;
    heed_interrupt(static_cast<std::int64_t>(search.run(src, pairs.subspan(begin, end - begin))));
    for (std::size_t p = begin; p < end; ++p) {
      if (!search.reaches(pairs[p].dst))
        throw ArgumentError(described(topology) + " has no path from " + called(topology, Vertex{src}) +
                            " to " + called(topology, Vertex{pairs[p].dst}) +
                            ", which the schedule needs: " + missing_link(search.ranks_reached()));
      const std::size_t path = links_.size();
      search.append_path(src, pairs[p].dst, &links_);
      if (links_.size() > kMaxLinks)
        throw ArgumentError("topology '" + topology.name() + "': the paths between the schedule's " +
                            std::to_string(pairs.size()) + " pairs of ranks have more than " +
                            std::to_string(kMaxLinks) +
                            " links in all; use a schedule made for this topology");
      const bool is_empty = links_.size() == path;
      routes_.push_back(
          {path, static_cast<std::uint32_t>(links_.size() - path), is_empty ? -1 : links_[path]});
    }
  }
}

}  // namespace hemiola
