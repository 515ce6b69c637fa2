// SPDX-License-Identifier: Apache-2.0
// How often links are told of what comes to them: once of a moment and a latency, where many flows of many meet.
#include "hemiola/simulate/joined_changes.hpp"

#include <gtest/gtest.h>

#include <set>

#include "hemiola/algorithms/published/direct.hpp"
#include "hemiola/topology/builders/grid.hpp"

namespace hemiola::simulation {
namespace {

Topology torus(int side) {
  topologies::Dimension row;
  row.wires = topologies::Wires::ring;
  row.cost.latency = 1'000'000;
  row.cost.bandwidth_Bps = 50e9;
  row.size = side;
  return topologies::grid({row, row});
}

/// A direct exchange on such a torus.
struct Exchange {
  explicit Exchange(int side) : topology(torus(side)), schedule(algorithms::all_reduce_direct(side * side)) {}

  const Topology topology;
  const Schedule schedule;
  const Scenario scenario{schedule, topology, 1 << 20, {}, Noise(0, 0)};
  LinkQueues queues{scenario};
  JoinedChanges joined{scenario, &queues};
};

// Given: a torus of links alike, all flows of a direct exchange at once.
// Derivation: what sets off together comes to a link after a whole number of latencies, fewer than the longest path has links.
// Expect: a wave for each of these numbers but 0, while flows times links grow with the fifth power of the side.
TEST(JoinedChanges, FlowsThatChangeAtOneMomentAreOneWaveForEachLatency) {
  for (const int side : {4, 6, 8}) {
    SCOPED_TRACE(side);
    Exchange exchange(side);
    auto& [topology, schedule, scenario, queues, joined] = exchange;
    ASSERT_TRUE(joined.are_worth_it(scenario.transfer_count()));
    std::size_t uses = 0;
    for (TransferId t = 0; t < scenario.transfer_count(); ++t) {
      joined.add(t, 1, 1e-6);
      queues.visit(t, [&](int, Picoseconds) { ++uses; });
    }
    std::set<Picoseconds> times;
    std::size_t waves = 0;
    const auto count = [&](Picoseconds time, std::uint32_t wave) {
      times.insert(time);
      ++waves;
      joined.arrive(wave, time);
    };
    joined.send(0, count);
    EXPECT_EQ(waves, times.size());
    EXPECT_GE(waves, 1U);
    EXPECT_LT(waves, static_cast<std::size_t>(side));
    EXPECT_GT(uses, 100 * waves);
    joined.send(0, count);
    EXPECT_EQ(waves, times.size()) << "all has been sent";
  }
}

// Given: the same, of which as many flows change at each moment as there are links, or one more.
// Expect: nothing is joined in the former, in which no two flows need meet; in the latter once the paths are worth reading.
TEST(JoinedChanges, NothingIsJoinedWhereNoTwoFlowsNeedMeet) {
  Exchange exchange(8);
  auto& [topology, schedule, scenario, queues, joined] = exchange;
  const auto links = static_cast<std::size_t>(topology.link_count());
  for (std::size_t moment = 0; moment < scenario.pair_count(); ++moment)
    EXPECT_FALSE(joined.are_worth_it(links));
  const std::size_t moments = (scenario.pair_count() + links) / (links + 1);
  for (std::size_t moment = 1; moment < moments; ++moment) EXPECT_FALSE(joined.are_worth_it(links + 1));
  EXPECT_TRUE(joined.are_worth_it(links + 1));
}

// Given: the same, and one flow that changes by itself, again and again.
// Expect: as none meets it, joining pauses for one moment, two, four, … 64.
TEST(JoinedChanges, PausesWhereFlowsDoNotMeet) {
  Exchange exchange(8);
  auto& [topology, schedule, scenario, queues, joined] = exchange;
  TransferId long_flow = 0;
  while (scenario.path(long_flow).size() < 3) ++long_flow;
  ASSERT_TRUE(joined.are_worth_it(scenario.transfer_count()));
  const auto send_one = [&] {
    joined.add(long_flow, 0, 1e-6);
    joined.send(0, [&](Picoseconds, std::uint32_t wave) { joined.arrive(wave, 0); });
  };
  send_one();
  for (const int pause : {1, 2, 4, 8, 16, 32, 64, 64}) {
    SCOPED_TRACE(pause);
    for (int moment = 0; moment < pause; ++moment) EXPECT_FALSE(joined.are_worth_it(32));
    EXPECT_TRUE(joined.are_worth_it(32));
    send_one();
  }
}

}  // namespace
}  // namespace hemiola::simulation
