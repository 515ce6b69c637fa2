// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/routes.hpp"

#include <algorithm>
#include <limits>
#include <optional>
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
  int first_links = 0;  ///< where fewest links count before all else
  int hosts_left = 0;
  int relays = 0;   ///< ranks that the path passes
  double time = 0;  ///< of the message, in picoseconds
  int hops = kUnreached;
  double seconds_per_byte = 0;  ///< summed over the links

  double latency = 0;
  Picoseconds message = 0;
  double least_Bps = std::numeric_limits<double>::infinity();

  bool is_reached() const { return hops != kUnreached; }
  auto key() const { return std::tie(first_links, hosts_left, relays, time, hops, seconds_per_byte); }
  friend bool operator==(const Distance& a, const Distance& b) { return a.key() == b.key(); }
  friend bool operator<(const Distance& a, const Distance& b) { return a.key() < b.key(); }
};

/// Whether some rank has links to several vertices.
bool ranks_may_relay(const Topology& topology) {
  for (Rank rank : indices<Rank>(topology.rank_count())) {
    const int* first = topology.out_begin(Vertex{rank});
    const int* end = topology.out_end(Vertex{rank});
    if (std::any_of(first, end, [&](int l) { return topology.link(l).dst != topology.link(*first).dst; }))
      return true;
  }
  return false;
}

/// Searches from one rank after another, with arrays that are reused: level by level, by the number of links. A vertex
/// comes again in a later level where a path of more links is better.
class Search {
 public:
  enum class By { time, links };

  Search(const Topology& topology, double message_bytes, By by)
      : topology_(topology),
        by_(by),
        message_ps_(message_bytes * static_cast<double>(kSecond)),
        reach_(static_cast<std::size_t>(topology.vertex_count())) {
    const bool has_hosts = topology.node_count() > 1 && topology.node_count() < topology.rank_count();
    if (has_hosts) host_of_ = host_of_vertices(topology);
    double most_Bps = 0;
    for (const Link& link : topology.links()) most_Bps = std::max(most_Bps, link.bandwidth_Bps);
    least_time_ = message_ps_ / most_Bps;
  }

  /// Distances from `src` to `wanted`, and to all on the ways there. Returns how often it came to a vertex.
  std::size_t run(Rank src, std::span<const RankPair> wanted) {
    for (Vertex v : reached_) at(v).distance = Distance{};
    reached_.assign(1, Vertex{src});
    at(Vertex{src}).distance.hops = 0;
    level_.assign(1, Vertex{src});
    std::size_t wanted_reached = 0, visits = 0;
    std::optional<Distance> farthest;  // of those wanted, once all are reached
    while (!level_.empty()) {
      while (wanted_reached < wanted.size() && reaches(wanted[wanted_reached].dst)) ++wanted_reached;
      if (wanted_reached == wanted.size() && !farthest) farthest = farthest_of(wanted);
      visits += level_.size();
      next_level_.clear();
      for (Vertex v : level_) {
        at(v).is_waiting = false;
        if (!farthest || at(v).distance < *farthest)
          relax_links_of(v, /*relays=*/topology_.is_rank(v) && v != src);
      }
      level_.swap(next_level_);
    }
    return visits;
  }

  bool reaches(Rank dst) const { return reach_[static_cast<std::size_t>(dst)].distance.is_reached(); }

  /// Whether a first byte takes longer to some of these ranks than all bytes take on the fastest link.
  bool may_be_beaten(std::span<const RankPair> wanted) const {
    return std::any_of(wanted.begin(), wanted.end(), [this](const RankPair& pair) {
      return reach_[static_cast<std::size_t>(pair.dst)].distance.latency > least_time_;
    });
  }

  /// Whether its path leaves no more hosts than the other search's, and a message is there before its first byte would be.
  bool beats(const Search& other, Rank dst) const {
    const Distance &here = reach_[static_cast<std::size_t>(dst)].distance,
                   &there = other.reach_[static_cast<std::size_t>(dst)].distance;
    return here.hosts_left <= there.hosts_left && here.time < there.latency;
  }

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
    std::vector<int> links;   ///< the last links of all best paths, as they were found
    bool is_waiting = false;  ///< in the next level
  };

  bool leaves_host(const Link& link) const {
    if (host_of_.empty()) return false;
    const int host = host_of_[static_cast<std::size_t>(link.src)];
    return host != kNoHost && host != host_of_[static_cast<std::size_t>(link.dst)];
  }
  Reach& at(Vertex v) { return reach_[static_cast<std::size_t>(v)]; }

  Distance farthest_of(std::span<const RankPair> wanted) {
    Distance farthest;
    for (const RankPair& pair : wanted) farthest = std::max(farthest, at(Vertex{pair.dst}).distance);
    return farthest;
  }

  Distance beyond(const Distance& here, int index, bool relays) const {
    const Link& link = topology_.link(index);
    Distance there = here;
    there.hosts_left += leaves_host(link);
    ++there.hops;
    if (by_ == By::links)
      ++there.first_links;
    else
      there.relays += relays;
    there.seconds_per_byte += 1 / link.bandwidth_Bps;
    there.latency += static_cast<double>(link.latency);
    there.message = std::max(here.message, link.message);
    there.least_Bps = std::min(here.least_Bps, link.bandwidth_Bps);
    there.time = there.latency + static_cast<double>(there.message) + message_ps_ / there.least_Bps;
    return there;
  }

  void relax_links_of(Vertex v, bool relays) {
    const Distance here = at(v).distance;
    for (const int* l = topology_.out_begin(v); l != topology_.out_end(v); ++l) {
      const Vertex next = topology_.link(*l).dst;
      const Distance candidate = beyond(here, *l, relays);
      Reach& far = at(next);
      if (!far.distance.is_reached()) reached_.push_back(next);
      if (!far.distance.is_reached() || candidate < far.distance) {
        far.distance = candidate;
        far.links.clear();
        if (!far.is_waiting) next_level_.push_back(next);
        far.is_waiting = true;
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
  By by_;
  double message_ps_;         ///< at a byte a second
  double least_time_;         ///< of the message, on the fastest link
  std::vector<int> host_of_;  ///< by vertex; empty where no host has several ranks beside others
  std::vector<Reach> reach_;
  std::vector<Vertex> reached_, level_, next_level_;
};

}  // namespace

Routes::Routes(const Topology& topology, std::span<const RankPair> pairs, double message_bytes,
               Relays relays) {
  routes_.reserve(pairs.size());
  links_.reserve(pairs.size());
  Search by_time(topology, message_bytes, Search::By::time),
      by_links(topology, message_bytes, Search::By::links);
  const bool may_relay =
      relays == Relays::where_sooner && topology.switch_count() > 0 && ranks_may_relay(topology);
  for (std::size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {  // pairs are sorted by src
    const Rank src = pairs[begin].src;
    while (end < pairs.size() && pairs[end].src == src) ++end;
    const auto wanted = pairs.subspan(begin, end - begin);
    heed_interrupt(static_cast<std::int64_t>(by_time.run(src, wanted)));
    const bool tries_links = may_relay && by_time.may_be_beaten(wanted);
    if (tries_links) heed_interrupt(static_cast<std::int64_t>(by_links.run(src, wanted)));
    for (std::size_t p = begin; p < end; ++p) {
      Search& search = tries_links && by_links.beats(by_time, pairs[p].dst) ? by_links : by_time;
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
