// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/synthesis/late/late_trees.hpp"
#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/topology/degraded.hpp"
#include "hemiola/topology/joined_ways.hpp"

namespace hemiola::synthesis {
namespace {

/// The ranks that reach a rank over one link, or through switches alone, and ways over such hops.
class Senders {
 public:
  explicit Senders(const Topology& topology) : into_(at(topology.rank_count())) {
    for (const RankPair& pair : peer_pairs(topology)) into_[at(pair.dst)].push_back(pair.src);
  }

  const std::vector<Rank>& to(Rank rank) const { return into_[at(rank)]; }

  /// The fewest hops to a rank from one of the sources, of which one must reach it; of equal ones from the first.
  std::vector<RankPair> way(const std::vector<Rank>& sources, Rank rank) const {
    std::vector<Rank> follows(into_.size(), Rank{-1}), todo{rank};
    follows[at(rank)] = rank;
    const auto reached = [&] {
      return std::find_if(sources.begin(), sources.end(), [&](Rank one) { return follows[at(one)] >= 0; });
    };
    for (std::size_t begin = 0; reached() == sources.end();)
      for (const std::size_t end = todo.size(); begin < end; ++begin)  // all that are as many hops away
        for (const Rank src : to(todo[begin]))
          if (follows[at(src)] < 0) {
            follows[at(src)] = todo[begin];
            todo.push_back(src);
          }
    std::vector<RankPair> hops;
    for (Rank src = *reached(); src != rank; src = follows[at(src)]) hops.push_back({src, follows[at(src)]});
    return hops;
  }

 private:
  std::vector<std::vector<Rank>> into_;  ///< by rank, ascending
};

/// Chooses who hands the late rank what is complete, so that the busiest link is least busy; of equals the rank that a chunk
/// reaches first.
class Backs {
 public:
  Backs(const Topology& topology, Rank late, const std::vector<HopTree>& down)
      : topology_(topology),
        load_(at(topology.link_count()), 0),
        candidate_(at(topology.rank_count()), kNone) {
    std::vector<RankPair> pairs;
    for (const HopTree& tree : down) pairs.insert(pairs.end(), tree.hops.begin(), tree.hops.end());
    std::sort(pairs.begin(), pairs.end());
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if (i == 0 || pairs[i] != pairs[i - 1]) first.push_back(i);
    first.push_back(pairs.size());
    std::vector<RankPair> used;
    for (std::size_t i = 0; i + 1 < first.size(); ++i) used.push_back(pairs[first[i]]);
    const Routes routes(topology, used, kLargeMessage);
    for (std::uint32_t p = 0; p < used.size(); ++p)
      for (const int link : routes.path(p)) add(link, static_cast<double>(first[p + 1] - first[p]));
    const Senders senders(topology);
    for (const Rank rank : senders.to(late)) {
      candidate_[at(rank)] = static_cast<std::int32_t>(back_.size());
      back_.push_back({rank, late});
    }
    const Routes ways(topology, back_, kLargeMessage);
    for (std::uint32_t p = 0; p < back_.size(); ++p)
      ways_.emplace_back(ways.path(p).begin(), ways.path(p).end());
  }

  /// For so many chunks that go down alike.
  RankPair of(const HopTree& down, double chunks) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const RankPair& hop : down.hops) {
      const std::int32_t candidate = candidate_[at(hop.dst)];
      if (candidate == kNone) continue;
      double busy = busiest_;
      for (const int link : ways_[at(candidate)])
        busy = std::max(busy, load_[at(link)] + chunks * time(link));
      if (busy < least) {
        least = busy;
        best = at(candidate);
      }
    }
    for (const int link : ways_[best]) add(link, chunks);
    return back_[best];
  }

 private:
  static constexpr std::int32_t kNone = -1;

  double time(int link) const { return 1 / topology_.link(link).bandwidth_Bps; }
  void add(int link, double chunks) {
    load_[at(link)] += chunks * time(link);
    busiest_ = std::max(busiest_, load_[at(link)]);
  }

  const Topology& topology_;
  std::vector<double> load_;  ///< by link, seconds a byte
  double busiest_ = 0;
  std::vector<std::int32_t> candidate_;  ///< by rank, its place among those that reach the late one
  std::vector<RankPair> back_;
  std::vector<std::vector<int>> ways_;
};

/// Hops of the late rank first, of which the first leads to the owner; then the others, and by whom it comes back. That
/// waits for the late rank's own sends: before, it would be in the way of its links out.
HopTree finish_of(const HopTree& down, Rank late, const RankPair& back) {
  HopTree tree;
  std::int32_t last = 0;
  for (const bool own : {true, false}) {
    for (std::size_t i = 0; i < down.hops.size(); ++i) {
      if ((down.hops[i].src == late) != own) continue;
      tree.add(down.hops[i], 2 * down.dates[i]);
      if (own) last = std::max(last, down.dates[i]);
      if (down.hops[i].dst == back.src) last = std::max(last, down.ends[i]);
    }
    if (own) tree.adding = static_cast<std::uint32_t>(tree.hops.size());
  }
  tree.add(back, 2 * last + 1);
  tree.returns = true;
  return tree;
}

}  // namespace

std::int32_t HopTree::last_date() const {
  return dates.empty() ? -1 : *std::max_element(dates.begin(), dates.end());
}

/// Steps follow time, so that a slow link's messages are steps apart: one is over when the next begins, and the last one takes
/// as long as the one before it.
std::vector<HopTree> ways_of(const Schedule& schedule) {
  struct Last {
    std::int32_t* end = nullptr;
    std::int32_t step = 0, gap = 1;
  };
  std::vector<HopTree> ways(at(schedule.chunk_count()));
  std::vector<std::size_t> hops(ways.size(), 0);
  for (const std::uint32_t chunk : schedule.chunk()) ++hops[chunk];
  for (std::size_t chunk = 0; chunk < ways.size(); ++chunk) ways[chunk].ends.reserve(hops[chunk]);
  std::vector<Last> links(schedule.pairs().size());
  for (const Step step : indices<Step>(schedule.step_count()))
    for (std::int64_t i = schedule.step_offset()[at(step)]; i < schedule.step_offset()[at(step) + 1]; ++i) {
      const RankPair pair = schedule.pair_of(i);
      HopTree& way = ways[at(schedule.chunk_of(i))];
      Last& last = links[schedule.link()[static_cast<std::size_t>(i)]];
      if (last.end) {
        last.gap = std::max(1, step - last.step);
        *last.end = last.step + last.gap - 1;
      }
      way.add({pair.src, pair.dst}, step);
      way.ends.push_back(step + last.gap - 1);
      last = {&way.ends.back(), step, last.gap};
    }
  return ways;
}

LateTrees around_ways(const Topology& topology, Rank late, std::vector<HopTree> down, std::vector<HopTree> up,
                      const std::vector<std::uint32_t>& shape) {
  LateTrees found;
  Backs backs(topology, late, down);
  const Senders senders(without_ranks(topology, {late}));
  std::vector<std::uint32_t> order(down.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return down[a].dates[0] < down[b].dates[0]; });
  std::vector<double> count(down.size(), 0);
  for (const std::uint32_t one : shape) ++count[one];
  std::vector<std::optional<RankPair>> back(down.size());  // by shape
  found.finish.resize(down.size());
  for (const std::uint32_t chunk : order) {
    std::optional<RankPair>& chosen = back[shape[chunk]];
    if (!chosen) chosen = backs.of(down[chunk], count[shape[chunk]]);
    found.finish[chunk] = finish_of(down[chunk], late, *chosen);
  }
  for (std::size_t chunk = 0; chunk < down.size(); ++chunk) {
    const HopTree& finish = found.finish[chunk];
    const Rank owner = finish.hops[0].dst;
    HopTree& wait = up[chunk];
    wait.adding = static_cast<std::uint32_t>(wait.hops.size());
    std::vector<Rank> has{without_late(owner, late)};
    std::int32_t date = wait.last_date();
    for (std::uint32_t i = 1; i < finish.adding; ++i)
      for (const RankPair& hop : senders.way(has, without_late(finish.hops[i].dst, late))) {
        has.push_back(hop.dst);
        wait.add({with_late(hop.src, late), with_late(hop.dst, late)}, ++date);
      }
    found.owner.push_back(owner);
    heed_interrupt(static_cast<std::int64_t>(finish.hops.size()));
  }
  found.wait = std::move(up);
  return found;
}

}  // namespace hemiola::synthesis
