// SPDX-License-Identifier: Apache-2.0
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

/// Messages of 1,000 bytes from rank 0 to rank 1, both of which this thread plays; when each has come, counted from the
/// start, which is 3 ms after now.
std::vector<double> arrivals(const Topology& topology, int messages) {
  const EmulatedNetwork model(topology, {}, {Rank{0}, Rank{1}});
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory(SharedNetwork::region_bytes(model) / sizeof(Line) + 1);
  const std::span<std::byte> region(memory.front().bytes, memory.size() * sizeof(Line));
  SharedNetwork sender(region, Rank{0}, &model), receiver(region, Rank{1}, &model);
  std::vector<MessageName> names;
  for (int m = 0; m < messages; ++m) names.push_back({Rank{0}, Rank{1}, static_cast<std::uint64_t>(m)});
  double start = 0;
  {
    SharedNetwork::Session session(&sender);
    session.advance();
    start = session.now_ns() + 3e6;
    for (const MessageName& name : names) EXPECT_TRUE(session.post(name, 1000, start));
  }
  for (const MessageName& name : names) EXPECT_TRUE(SharedNetwork::Session(&receiver).post(name, 1000));
  std::vector<bool> is_sent(names.size());
  std::vector<double> ends(names.size());
  for (std::size_t come = 0; come < names.size(); sched_yield()) {
    {
      SharedNetwork::Session session(&sender);
      session.acknowledge();
      session.advance();
      for (std::size_t m = 0; m < names.size(); ++m) is_sent[m] = is_sent[m] || session.take(names[m]);
    }
    SharedNetwork::Session session(&receiver);
    session.acknowledge();
    for (std::size_t m = 0; m < names.size(); ++m) {
      if (ends[m] != 0 || !session.take(names[m])) continue;
      ends[m] = session.now_ns() - start;
      ++come;
    }
  }
  return ends;
}

Topology pair_of_ranks(Picoseconds message) {
  return Topology(
      "pair", 2, 0,
      {{Vertex{0}, Vertex{1}, 1'000'000, 1e9, message}, {Vertex{1}, Vertex{0}, 1'000'000, 1e9, message}});
}

// Given 1,000 bytes at 1 byte per nanosecond and 1,000 ns on their way, of a core that is busy for 3 ms after now.
// Expect them 3 ms and 2,000 ns later, by the emulated clock, to the nanosecond.
TEST(SharedNetwork, AMessageStartsWhenItsRankHasDoneTheWorkThatIsCharged) {
  EXPECT_NEAR(arrivals(pair_of_ranks(0), 1).front(), 2000, 1);
}

// Given the same, and 500 ns of the link for each message. Expect one of them 500 ns later; and three at once, which share
// the link, to take it 1,500 ns and 3,000 ns for their bytes, as in simulations: messages are not free.
TEST(SharedNetwork, AMessageOccupiesItsLinksForItself) {
  EXPECT_NEAR(arrivals(pair_of_ranks(500'000), 1).front(), 2500, 1);
  for (double end : arrivals(pair_of_ranks(500'000), 3)) EXPECT_NEAR(end, 1500 + 3000 + 1000, 1);
}

}  // namespace
}  // namespace hemiola
