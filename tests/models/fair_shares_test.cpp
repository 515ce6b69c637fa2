// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/fair_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "hemiola/base/random.hpp"
#include "max_min_fair.hpp"

namespace hemiola {
namespace {

using Path = std::vector<int>;

/// Flows by number, with their paths and last known rates.
class Network {
 public:
  explicit Network(std::vector<double> capacity) : capacity_(capacity), shares_(std::move(capacity)) {}

  FlowId add(const Path& path) {
    paths_.push_back(path);
    const FlowId flow = shares_.add(paths_.back());
    flows_[flow] = {&paths_.back(), 0};
    return flow;
  }
  void remove(FlowId flow) {
    shares_.remove(flow);
    flows_.erase(flow);
  }
  std::size_t settle() {
    const auto changes = shares_.settle();
    for (const auto& change : changes) flows_.at(change.flow).rate = change.rate;
    return changes.size();
  }
  /// The largest difference to rates from scratch, relative to them.
  double error() const {
    const auto [paths, rates] = all();
    FairFilling filling;
    const std::span<const double> fresh = filling.fill(paths, capacity_);
    double most = 0;
    for (std::size_t f = 0; f < rates.size(); ++f)
      most = std::max(most, std::abs(rates[f] - fresh[f]) / fresh[f]);
    return most;
  }
  double rate(FlowId flow) const { return flows_.at(flow).rate; }
  std::size_t size() const { return flows_.size(); }
  FlowId any(std::uint32_t index) const { return std::next(flows_.begin(), index)->first; }

  void expect_max_min_fair() const {
    const auto [paths, rates] = all();
    hemiola::expect_max_min_fair(capacity_, paths, rates);
  }

 private:
  std::pair<std::vector<std::span<const int>>, std::vector<double>> all() const {
    std::vector<std::span<const int>> paths;
    std::vector<double> rates;
    for (const auto& [id, flow] : flows_) {
      paths.emplace_back(*flow.path);
      rates.push_back(flow.rate);
    }
    return {paths, rates};
  }
  struct Flow {
    const Path* path;
    double rate;
  };
  std::vector<double> capacity_;
  FairShares shares_;
  std::deque<Path> paths_;
  std::map<FlowId, Flow> flows_;
};

TEST(FairShares, AFlowAloneHasItsNarrowestLink) {
  Network network({4, 2, 3});
  const FlowId flow = network.add({0, 1, 2});
  network.settle();
  EXPECT_EQ(network.rate(flow), 2);
}

TEST(FairShares, EqualFlowsHaveExactlyEqualRates) {
  // 7 ports in, 7 out, all pairs: every rate is 1/7, whichever link decided for it.
  Network network(std::vector<double>(14, 1.0));
  std::vector<FlowId> flows;
  for (int a = 0; a < 7; ++a)
    for (int b = 0; b < 7; ++b) flows.push_back(network.add({a, 7 + b}));
  network.settle();
  for (FlowId flow : flows) EXPECT_EQ(network.rate(flow), network.rate(flows[0]));
}

TEST(FairShares, OnlyWhatIsConnectedToAChangeIsReported) {
  Network network({1, 1});
  network.add({0});
  network.add({1});
  EXPECT_EQ(network.settle(), 2u);
  network.add({1});
  EXPECT_EQ(network.settle(), 2u);  // both flows on link 1
  EXPECT_EQ(network.settle(), 0u);
}

TEST(FairShares, AFlowWhoseRateStaysIsNotReported) {
  // Link 0 decides for both its flows; what comes and goes on link 1 beside them does not matter.
  Network network({1, 10});
  network.add({0, 1});
  network.add({0});
  network.settle();
  const FlowId beside = network.add({1});
  EXPECT_EQ(network.settle(), 1u);
  EXPECT_DOUBLE_EQ(network.rate(beside), 9.5);
}

TEST(FairShares, RatesAreMaxMinFairWhateverComesAndGoes) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<double> capacity(2 + random.below(8));
    for (double& c : capacity) c = 1 + random.below(5);
    Network network(capacity);
    for (int change = 0; change < 100; ++change) {
      if (network.size() > 0 && random.below(3) == 0) {
        network.remove(network.any(random.below(static_cast<std::uint32_t>(network.size()))));
      } else {
        Path path;
        for (int l = 0; l < static_cast<int>(capacity.size()); ++l)
          if (random.below(3) == 0) path.push_back(l);
        if (path.empty()) path.push_back(0);
        network.add(path);
      }
      if (random.below(2) != 0) continue;
      network.settle();
      network.expect_max_min_fair();
    }
  }
}

// Ways along the rows and columns of a torus, in one direction each: all flows are connected, and a change concerns few of
// them. With one capacity for all links levels meet; with many they do not.
Path path_on_torus(int side, Random* random) {
  const auto below = [&](int n) { return static_cast<int>(random->below(static_cast<std::uint32_t>(n))); };
  Path path;
  int x = below(side), y = below(side);
  for (int hops = below(side); hops-- > 0; x = (x + 1) % side) path.push_back(2 * (y * side + x));
  for (int hops = below(side); hops-- > 0; y = (y + 1) % side) path.push_back(2 * (y * side + x) + 1);
  if (path.empty()) path.push_back(2 * (y * side + x));
  return path;
}

TEST(FairShares, RatesStayMaxMinFairOverManySmallChangesAndErrorsDoNotPileUp) {
  constexpr int side = 8;
  for (const std::uint32_t speeds : {1u, 3u, 1000u})
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(testing::Message() << speeds << " speeds, seed " << seed);
      Random random(seed);
      std::vector<double> capacity(2 * side * side);
      for (double& c : capacity) c = 1 + random.below(speeds);
      Network network(capacity);
      for (int f = 0; f < 300; ++f) network.add(path_on_torus(side, &random));
      for (int change = 0; change < 1000; ++change) {
        network.remove(network.any(random.below(static_cast<std::uint32_t>(network.size()))));
        if (change % 2 == 0) network.settle();
        if (change < 800) network.add(path_on_torus(side, &random));
        network.settle();
        if (change % 7 != 0) continue;
        ASSERT_LT(network.error(), 1e-11) << "change " << change;
      }
      network.expect_max_min_fair();
    }
}

TEST(FairRepair, IsGivenUpWhereItTakesTooManyLooks) {
  // Three flows on link 0, of which one has come; the others were alone with its capacity.
  const Path path{0};
  SharedFlows shared;
  shared.links.resize(1);
  shared.capacity = {6};
  for (FlowId f = 0; f < 3; ++f) {
    shared.link(0).flows.push_back(f);
    shared.flows.push_back({.path = path, .rate = f < 2 ? 3.0 : 0.0, .full_link = f < 2 ? 0 : -1});
  }
  FairRepair repair(&shared);
  const int changed = 0;
  const FlowId added = 2;
  EXPECT_FALSE(repair.repair({&changed, 1}, {&added, 1}, 2));
  ASSERT_TRUE(repair.repair({&changed, 1}, {&added, 1}, 100));
  EXPECT_EQ(repair.concerned().size(), 3u);
  for (FlowId f : repair.concerned()) EXPECT_EQ(shared.flow(f).next_rate, 2);
}

}  // namespace
}  // namespace hemiola
