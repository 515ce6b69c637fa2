// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/tree_count.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "hemiola/base/progress.hpp"
#include "hemiola/synthesis/forest/forest_options.hpp"

namespace hemiola::synthesis {
namespace {

constexpr double kGoodEnough = 0.999, kRounding = 1e-9;

class RateSearch {
 public:
  RateSearch(const TwoWayLinks& links, double optimum_Bps) : links_(links), optimum_Bps_(optimum_Bps) {}

  /// Bandwidths of `trees` trees that carry more than `least_Bps` together and not more than the optimum, the thickest
  /// first. An edge's number of trees changes only where their bandwidth is a whole fraction of its own, so there are no
  /// others to try.
  std::vector<double> candidates(int trees, double least_Bps) const {
    std::vector<double> found;
    for (const double Bps : links_.bandwidth_Bps)
      for (int part = 1; part <= trees; ++part)
        if (const double all_Bps = Bps / part * trees;
            all_Bps > least_Bps * (1 + kRounding) && all_Bps <= optimum_Bps_ * (1 + kRounding))
          found.push_back(Bps / part);
    std::sort(found.begin(), found.end(), std::greater<>());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  /// The thickest trees that carry more than `least_Bps` together; 0 trees where there are none.
  TreeRate thickest(int trees, double least_Bps) {
    const std::vector<double> rates = candidates(trees, least_Bps);
    const auto found = std::partition_point(rates.begin(), rates.end(),
                                            [&](double tree_Bps) { return !fits(tree_Bps, trees); });
    return found == rates.end() ? TreeRate{} : TreeRate{trees, *found};
  }

 private:
  bool fits(double tree_Bps, int trees) {
    const std::vector<bounds::Edge> copies = links_.copies(tree_Bps, trees);
    const auto stops = [&](const bounds::Partition& partition) {
      return partition.capacity_between(copies) < std::int64_t{trees} * (partition.part_count - 1);
    };
    // The cut that stopped other trees often stops these, and is found faster.
    if (std::any_of(in_the_way_.begin(), in_the_way_.end(), stops)) return false;
    bounds::Partition tightest = bounds::cheapest_partition(links_.rank_count, copies, 1, trees);
    if (!stops(tightest)) return true;
    in_the_way_.push_back(std::move(tightest));
    return false;
  }

  const TwoWayLinks& links_;
  double optimum_Bps_;
  std::vector<bounds::Partition> in_the_way_;
};

}  // namespace

double strength_Bps(const TwoWayLinks& links) {
  const std::vector<bounds::Edge> edges = links.edges();
  const bounds::Partition weakest = bounds::weakest_partition(links.rank_count, edges);
  return static_cast<double>(weakest.capacity_between(edges)) / (weakest.part_count - 1);
}

TreeRate choose_rate(const TwoWayLinks& links, int trees, double optimum_Bps) {
  RateSearch search(links, optimum_Bps);
  if (trees > 0) return search.thickest(trees, 0);
  const double enough_Bps = kGoodEnough * optimum_Bps;
  // The most that each number of trees carries, best first; all that may be enough count as equal.
  std::vector<std::pair<double, int>> hopes;
  for (int count = 1; count <= kMostTrees; ++count)
    if (const std::vector<double> rates = search.candidates(count, 0); !rates.empty())
      hopes.emplace_back(-std::min(rates[0] * count, enough_Bps), count);
  std::sort(hopes.begin(), hopes.end());
  TreeRate best;
  Parts parts(static_cast<double>(hopes.size()));
  for (const auto& [hope, count] : hopes) {
    parts.next();
    if (best.total_Bps() >= -hope) break;
    if (const TreeRate rate = search.thickest(count, best.total_Bps()); rate.trees > 0) best = rate;
  }
  return best;
}

}  // namespace hemiola::synthesis
