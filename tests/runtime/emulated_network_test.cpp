// The emulated network's arithmetic. That messages arrive over it is in contracts/wire_contract.hpp.
#include "hemiola/runtime/wire/emulated/emulated_network.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <span>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/wire/emulated/shared_network.hpp"

namespace hemiola {
namespace {

// Given a switch with 3 ranks of which two take part, numbered 0 and 1; the third is slow by the conditions.
// Expect a rank's links, and nobody else's, to follow its factor; and pairs' healthy speed to know no factors.
TEST(EmulatedNetwork, PortsFollowTheFactorsOfTheirRanks) {
  std::vector<Link> links;
  for (int rank = 0; rank < 3; ++rank) {
    links.push_back({Vertex{rank}, Vertex{3}, 1000, 2e9});
    links.push_back({Vertex{3}, Vertex{rank}, 1000, 2e9});
  }
  const Topology topology("switch", 3, 1, links);
  Conditions conditions;
  conditions.slow[Rank{2}] = 4;
  const EmulatedNetwork model(topology, conditions, {Rank{0}, Rank{1}});
  EXPECT_EQ(model.slowdown(), (std::vector<double>{1, 1}));
  EXPECT_DOUBLE_EQ(model.bandwidth_Bpns(Rank{0}, Rank{1}), 2);
  const std::vector<double> capacities =
      model.capacities(model.link_slowdown({.ports = {1, 2}, .links = {{{0, 3}, 4.0}}}));
  for (std::size_t l = 0; l < capacities.size(); ++l) {
    const Link& link = topology.links()[l];
    const int rank = std::min<int>(link.src, link.dst);  // the other end is the switch
    const double of_link = link.src == 0 ? 4.0 : 1.0;
    EXPECT_DOUBLE_EQ(capacities[l] * of_link, rank == 0 ? 2.0 : rank == 1 ? 1.0 : 0.5);
  }
  EXPECT_THROW(model.link_slowdown({.ports = {1, 1}, .links = {{{0, 1}, 2.0}}}), ArgumentError);
  EXPECT_THROW(model.link_slowdown({.ports = {1, 1}, .links = {{{0, 3}, 0.5}}}), ArgumentError);
}

// Given two equal ways from rank 0 to rank 3, through ranks 1 and 2, of which 1 is slow. Expect the way to be the one that
// simulations take, through the lower number whatever ranks are like at the moment: they change while messages are under
// way.
TEST(EmulatedNetwork, RoutesKnowNoFactors) {
  const Topology topology("diamond", 4, 0,
                          {{Vertex{0}, Vertex{1}, 1000, 1e9},
                           {Vertex{0}, Vertex{2}, 1000, 1e9},
                           {Vertex{1}, Vertex{3}, 1000, 1e9},
                           {Vertex{2}, Vertex{3}, 1000, 1e9},
                           {Vertex{3}, Vertex{0}, 1000, 1e9}});
  Conditions conditions;
  conditions.slow[Rank{1}] = 10;
  const EmulatedNetwork model(topology, conditions, {Rank{0}, Rank{3}});
  const std::span<const int> path = model.path(Rank{0}, Rank{1});
  EXPECT_EQ((std::vector<int>{path.begin(), path.end()}), (std::vector<int>{0, 2}));
}

// Given 1,000 bytes at 1 byte per nanosecond and 1,000 ns on their way, of a core that is busy for 3 ms after now.
// Expect them 3 ms and 2,000 ns later, by the emulated clock, to the nanosecond.
TEST(SharedNetwork, AMessageStartsWhenItsRankHasDoneTheWorkThatIsCharged) {
  const Topology topology("pair", 2, 0,
                          {{Vertex{0}, Vertex{1}, 1'000'000, 1e9}, {Vertex{1}, Vertex{0}, 1'000'000, 1e9}});
  const EmulatedNetwork model(topology, {}, {Rank{0}, Rank{1}});
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory(SharedNetwork::region_bytes(model) / sizeof(Line) + 1);
  const std::span<std::byte> region(memory.front().bytes, memory.size() * sizeof(Line));
  SharedNetwork sender(region, Rank{0}, &model), receiver(region, Rank{1}, &model);
  const MessageName message{Rank{0}, Rank{1}, 0};
  double start = 0, end = 0;
  {
    SharedNetwork::Session session(&sender);
    session.advance();
    start = session.now_ns() + 3e6;
    ASSERT_TRUE(session.post(message, 1000, start));
  }
  ASSERT_TRUE(SharedNetwork::Session(&receiver).post(message, 1000));
  for (bool is_sent = false; end == 0; sched_yield()) {
    {
      SharedNetwork::Session session(&sender);
      session.acknowledge();
      session.advance();
      is_sent = is_sent || session.take(message);
    }
    SharedNetwork::Session session(&receiver);
    if (session.take(message)) end = session.now_ns();
  }
  EXPECT_NEAR(end, start + 2000, 1);
}

}  // namespace
}  // namespace hemiola
