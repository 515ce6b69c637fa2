// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/speed_classes.hpp"

#include <algorithm>
#include <numeric>

namespace hemiola::synthesis {
namespace {

Picoseconds slowest_hop(const Channels& channels, std::uint32_t channel) {
  Picoseconds slowest = 0;
  for (const Hop& hop : channels.hops(channel)) slowest = std::max(slowest, hop.delay);
  return slowest;
}

/// The largest cost of each class but the last: between neighbours that differ most, as a ratio.
std::vector<Picoseconds> class_limits(std::vector<Picoseconds> costs, int most) {
  std::sort(costs.begin(), costs.end());
  costs.erase(std::unique(costs.begin(), costs.end()), costs.end());
  std::vector<std::size_t> gaps(costs.empty() ? 0 : costs.size() - 1);
  std::iota(gaps.begin(), gaps.end(), std::size_t{0});
  const auto ratio = [&](std::size_t i) {
    return static_cast<double>(costs[i + 1]) / static_cast<double>(std::max<Picoseconds>(costs[i], 1));
  };
  std::stable_sort(gaps.begin(), gaps.end(),
                   [&](std::size_t a, std::size_t b) { return ratio(a) > ratio(b); });
  gaps.resize(std::min(gaps.size(), static_cast<std::size_t>(most) - 1));
  std::sort(gaps.begin(), gaps.end());
  std::vector<Picoseconds> limits;
  for (const std::size_t gap : gaps) limits.push_back(costs[gap]);
  return limits;
}

/// Connected components, grown edge by edge.
class Components {
 public:
  explicit Components(int count) : parent_(static_cast<std::size_t>(count)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  void join(int a, int b) { at(find(a)) = find(b); }
  /// Each member's component, numbered from 0 in the order of first members.
  std::vector<int> numbered(int* count) {
    std::vector<int> number(parent_.size(), -1), of(parent_.size());
    *count = 0;
    for (std::size_t i = 0; i < parent_.size(); ++i) {
      int& root = number[static_cast<std::size_t>(find(static_cast<int>(i)))];
      if (root < 0) root = (*count)++;
      of[i] = root;
    }
    return of;
  }

 private:
  int& at(int i) { return parent_[static_cast<std::size_t>(i)]; }
  int find(int i) {
    while (at(i) != i) i = at(i) = at(at(i));
    return i;
  }
  std::vector<int> parent_;
};

/// Per cluster, the sum of the rates of the links over which channels from other clusters enter, each link once.
std::vector<double> entry_rates(const Channels& channels, const std::vector<int>& cluster_of,
                                int cluster_count) {
  std::vector<double> rates(static_cast<std::size_t>(cluster_count), 0);
  std::vector<bool> counted(channels.link_count(), false);
  for (std::uint32_t c = 0; c < channels.count(); ++c) {
    const int from = cluster_of[static_cast<std::size_t>(channels[c].src)];
    const int into = cluster_of[static_cast<std::size_t>(channels[c].dst)];
    const Hop& last = channels.hops(c).back();
    if (from == into || counted[last.link]) continue;
    counted[last.link] = true;
    rates[static_cast<std::size_t>(into)] += 1 / static_cast<double>(std::max<Picoseconds>(last.busy, 1));
  }
  return rates;
}

}  // namespace

SpeedClasses::SpeedClasses(const Channels& channels) : class_of_(channels.count()) {
  std::vector<Picoseconds> cost(channels.count());
  for (std::uint32_t c = 0; c < channels.count(); ++c) cost[c] = slowest_hop(channels, c);
  const std::vector<Picoseconds> limits = class_limits(cost, kMost);
  for (std::uint32_t c = 0; c < channels.count(); ++c)
    class_of_[c] =
        static_cast<std::uint8_t>(std::lower_bound(limits.begin(), limits.end(), cost[c]) - limits.begin());
  Components components(channels.rank_count());
  for (std::size_t speed = 0; speed <= limits.size() + 1; ++speed) {
    int count = 0;
    cluster_of_.push_back(components.numbered(&count));
    cluster_count_.push_back(count);
    cluster_size_.emplace_back(static_cast<std::size_t>(count), 0);
    for (const int cluster : cluster_of_.back()) ++cluster_size_.back()[static_cast<std::size_t>(cluster)];
    cluster_rate_.push_back(entry_rates(channels, cluster_of_.back(), count));
    for (std::uint32_t c = 0; c < channels.count(); ++c)
      if (class_of_[c] == speed) components.join(channels[c].src, channels[c].dst);
  }
}

}  // namespace hemiola::synthesis
