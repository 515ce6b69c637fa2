// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/exchange_estimate.hpp"

#include <algorithm>
#include <vector>

#include "hemiola/schedule/collective.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/simulate/setting.hpp"

namespace hemiola {
namespace {

/// Ranks whose ways are held at a time.
constexpr int kAtOnce = 64;

/// The load of all flows on the links.
class ExchangeLoad {
 public:
  ExchangeLoad(const simulation::Setting& setting, double bytes)
      : setting_(setting), bytes_(bytes), flows_(static_cast<std::size_t>(setting.topology().link_count())) {}

  void add(const Routes& routes) {
    for (std::uint32_t pair = 0; pair < routes.pair_count(); ++pair) {
      Picoseconds latency = 0;
      for (int link : routes.path(pair)) {
        latency += setting_.latency(link);
        ++flows_[static_cast<std::size_t>(link)];
      }
      longest_latency_ = std::max(longest_latency_, latency);
    }
  }

  double duration() const {
    double longest = 0;
    for (int link = 0; link < setting_.topology().link_count(); ++link)
      longest = std::max(longest, flows_[static_cast<std::size_t>(link)] * of_one(link));
    return longest + static_cast<double>(longest_latency_);
  }
  double shared() const {
    double sum = 0;
    for (const double flows : flows_)
      if (flows > 1) sum += flows * flows;
    return sum;
  }

 private:
  double of_one(int link) const {
    return bytes_ * setting_.ps_per_byte(link) + static_cast<double>(setting_.message(link));
  }

  const simulation::Setting& setting_;
  double bytes_;
  std::vector<double> flows_;  ///< by link
  Picoseconds longest_latency_ = 0;
};

}  // namespace

StepEstimate estimate_exchange(const Topology& topology, std::int64_t bytes, const Conditions& conditions) {
  const int n = topology.rank_count();
  const Collective collective = Collective::make(CollectiveKind::all_gather, n, n, Rank{0});
  const simulation::Setting setting(collective, {}, topology, bytes, conditions);
  ExchangeLoad load(setting, static_cast<double>(bytes) / n);
  double arrival = 0;
  std::vector<RankPair> pairs;
  for (int first = 0; first < n; first += kAtOnce) {
    pairs.clear();
    for (int src = first; src < std::min(n, first + kAtOnce); ++src) {
      arrival = std::max(arrival, static_cast<double>(setting.arrival(Rank{src})));
      for (int dst = 0; dst < n; ++dst)
        if (src != dst) pairs.push_back({Rank{src}, Rank{dst}});
    }
    load.add(setting.routes(pairs));
  }
  const double duration = simulation::within_limit(arrival + load.duration());
  return {static_cast<Picoseconds>(duration),
          static_cast<double>(n) * (n - 1) + kShareOfWork * load.shared()};
}

}  // namespace hemiola
