// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/shared_trees.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "hemiola/base/index.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/progress.hpp"
#include "hemiola/bounds/length_bound.hpp"

namespace hemiola::synthesis {
namespace {

/// Fewer hang too many ranks by one port, which then delays the chunks that it passes on.
constexpr std::array kTreesUnasked{4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr int kRounds = 12;
/// More trees must carry so much more to be worth smaller chunks.
constexpr double kWorthIt = 1.005, kGoodShare = 0.995;
/// One tree more on a link makes it longer by so many powers of e.
constexpr double kCrowding = 1.5;
/// A tree one level deeper is worth so much longer a way.
constexpr double kPerLevel = 0.01;
constexpr double kFar = std::numeric_limits<double>::infinity();

/// The channels of two ranks to each other.
struct BothWays {
  std::uint32_t there;
  std::uint32_t back;
};

class Laying {
 public:
  Laying(const Topology& topology, const Channels& channels)
      : topology_(topology),
        channels_(channels),
        rank_count_(channels.rank_count()),
        pair_of_(at(rank_count_ * rank_count_), -1) {
    for (const Link& link : topology.links()) capacity_Bps_.push_back(link.bandwidth_Bps);
    for (std::uint32_t c = 0; c < channels.count(); ++c) {
      const auto [src, dst] = channels[c];
      if (src > dst) continue;
      const std::uint32_t back = channels.between(dst, src);
      if (back == channels.count()) continue;
      pair_of_[at(src * rank_count_ + dst)] = pair_of_[at(dst * rank_count_ + src)] =
          static_cast<int>(pairs_.size());
      pairs_.push_back({src, dst, 0});
      ways_.push_back({c, back});
    }
    length_.assign(capacity_Bps_.size(), 1);
  }

  bool spans() {
    weigh();
    return cheapest(0).size() == at(rank_count_) - 1;
  }

  /// Tries every number of trees, or one.
  SharedTrees operator()(int trees) {
    SharedTrees best;
    most_Bps_ = kFar;
    Parts parts(trees > 0 ? trees : std::accumulate(kTreesUnasked.begin(), kTreesUnasked.end(), 0));
    for (const int count : kTreesUnasked) {
      parts.next(trees > 0 ? trees : count);
      lay(trees > 0 ? trees : count);
      if (best_Bps_ > best.total_Bps * kWorthIt) best = {pairs_, best_trees_, best_Bps_, 0};
      if (trees > 0 || best.total_Bps > kGoodShare * most_Bps_) break;
    }
    best.most_Bps = std::max(best.total_Bps, most_Bps_);
    return best;
  }

 private:
  void lay(int count) {
    trees_.assign(at(count), {});
    load_.assign(capacity_Bps_.size(), 0);
    best_Bps_ = 0;
    Parts parts(kRounds);
    for (int round = 0; round < kRounds; ++round) {
      parts.next();
      for (int t = 0; t < count; ++t) {
        book(trees_[at(t)], -1);
        stretch(kCrowding);
        trees_[at(t)] = cheapest(t % rank_count_);
        book(trees_[at(t)], 1);
      }
      if (const double all_Bps = count / slowest(); all_Bps > best_Bps_) {
        best_Bps_ = all_Bps;
        best_trees_ = trees_;
      }
    }
    for (const double crowding : {0.03, 0.1, 0.3, 1.0, 3.0, 10.0}) {
      stretch(crowding);
      most_Bps_ = std::min(most_Bps_, bounds::fastest_by_lengths_Bps(topology_, length_));
    }
  }

  void book(const std::vector<int>& tree, int sign) {
    for (const int pair : tree)
      for (const std::uint32_t channel : {ways_[at(pair)].there, ways_[at(pair)].back})
        for (const Hop& hop : channels_.hops(channel)) load_[hop.link] += sign;
  }

  /// Seconds that the busiest link takes for a byte of every tree.
  double slowest() const {
    double most = 0;
    for (std::size_t l = 0; l < load_.size(); ++l) most = std::max(most, load_[l] / capacity_Bps_[l]);
    return most;
  }

  /// Lengths of links by their loads, in units of a tree on the busiest one.
  void stretch(double crowding) {
    double most = 0, unit = 0;
    for (std::size_t l = 0; l < load_.size(); ++l)
      if (const double time = load_[l] / capacity_Bps_[l]; time > most) {
        most = time;
        unit = 1 / capacity_Bps_[l];
      }
    for (std::size_t l = 0; l < load_.size(); ++l) {
      const double beyond = most > 0 ? (load_[l] / capacity_Bps_[l] - most) / unit : 0;
      length_[l] = std::exp(crowding * beyond) / capacity_Bps_[l];
    }
    weigh();
  }

  void weigh() {
    pair_length_.resize(pairs_.size());
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      pair_length_[p] = length_of(ways_[p].there) + length_of(ways_[p].back);
  }

  double length_of(std::uint32_t channel) const {
    double sum = 0;
    for (const Hop& hop : channels_.hops(channel)) sum += length_[hop.link];
    return sum;
  }

  /// The shortest spanning tree [prim1957], pairs; of nearly equal ones a shallow one below the root.
  std::vector<int> cheapest(int root) const {
    std::vector<double> key(at(rank_count_), kFar);
    std::vector<int> pair_to(at(rank_count_), -1), depth(at(rank_count_), 0);
    std::vector<bool> done(at(rank_count_), false);
    std::vector<int> tree;
    heed_interrupt(std::int64_t{rank_count_} * rank_count_);
    for (int next = root; next >= 0;) {
      done[at(next)] = true;
      if (next != root) tree.push_back(pair_to[at(next)]);
      int nearest = -1;
      for (int v = 0; v < rank_count_; ++v) {
        if (done[at(v)]) continue;
        const int pair = pair_of_[at(next * rank_count_ + v)];
        if (pair >= 0) {
          const double longer = 1 + kPerLevel * depth[at(next)];
          if (const double cost = pair_length_[at(pair)] * longer; cost < key[at(v)]) {
            key[at(v)] = cost;
            pair_to[at(v)] = pair;
            depth[at(v)] = depth[at(next)] + 1;
          }
        }
        if (key[at(v)] < kFar && (nearest < 0 || key[at(v)] < key[at(nearest)])) nearest = v;
      }
      next = nearest;
    }
    return tree;
  }

  const Topology& topology_;
  const Channels& channels_;
  int rank_count_;
  std::vector<bounds::Edge> pairs_;
  std::vector<BothWays> ways_;        ///< per pair
  std::vector<int> pair_of_;          ///< per two ranks; -1: none
  std::vector<double> capacity_Bps_;  ///< per link
  std::vector<double> length_;        ///< per link
  std::vector<double> pair_length_;   ///< there and back
  std::vector<int> load_;             ///< per link, trees that cross it
  SpanningTrees trees_, best_trees_;
  double best_Bps_ = 0, most_Bps_ = kFar;
};

}  // namespace

std::optional<SharedTrees> lay_shared_trees(const Topology& topology, const Channels& channels, int trees) {
  Laying laying(topology, channels);
  if (!laying.spans()) return std::nullopt;
  return laying(trees);
}

}  // namespace hemiola::synthesis
