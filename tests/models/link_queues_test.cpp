// How often links are told of what comes to them: once of a moment and a latency, however many flows that is.
#include "hemiola/simulate/link_queues.hpp"

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

// Given: a torus of links alike, all flows of a direct exchange at once.
// Derivation: what sets off together comes to a link after a whole number of latencies, fewer than the longest path has links.
// Expect: a wave for each of these numbers but 0, while flows times links grow with the fifth power of the side.
TEST(LinkQueues, FlowsThatChangeAtOneMomentAreOneWaveForEachLatency) {
  for (const int side : {4, 6, 8}) {
    SCOPED_TRACE(side);
    const Topology topology = torus(side);
    const Schedule schedule = algorithms::all_reduce_direct(side * side);
    const Scenario scenario(schedule, topology, 1 << 20, {}, Noise(0, 0));
    LinkQueues queues(scenario);
    std::size_t uses = 0;
    for (TransferId t = 0; t < scenario.transfer_count(); ++t)
      for (const LinkQueues::InletId i : queues.inlets_of(t)) {
        queues.add(i, 1, 1e-6);
        ++uses;
      }
    std::set<Picoseconds> later;
    std::size_t waves = 0;
    const auto count = [&](Picoseconds by, std::uint32_t wave) {
      later.insert(by);
      ++waves;
      queues.arrive(wave, by);
    };
    queues.send(0, count);
    EXPECT_EQ(waves, later.size());
    EXPECT_GE(waves, 1U);
    EXPECT_LT(waves, static_cast<std::size_t>(side));
    EXPECT_GT(uses, 100 * waves);
    queues.send(0, count);
    EXPECT_EQ(waves, later.size()) << "all has been sent";
  }
}

}  // namespace
}  // namespace hemiola::simulation
