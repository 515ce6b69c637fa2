#include "hemiola/topology/fair_shares.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
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
  double rate(FlowId flow) const { return flows_.at(flow).rate; }
  std::size_t size() const { return flows_.size(); }
  FlowId any(std::uint32_t index) const { return std::next(flows_.begin(), index)->first; }

  void expect_max_min_fair() const {
    std::vector<std::span<const int>> paths;
    std::vector<double> rates;
    for (const auto& [id, flow] : flows_) {
      paths.emplace_back(*flow.path);
      rates.push_back(flow.rate);
    }
    hemiola::expect_max_min_fair(capacity_, paths, rates);
  }

 private:
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

}  // namespace
}  // namespace hemiola
