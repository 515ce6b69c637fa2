// SPDX-License-Identifier: Apache-2.0
// Which channels a wide port says are marked and open, against sets of pairs of ranks that are kept one by one.
#include "hemiola/synthesis/flood/wide_ports.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/topology/builders/hosts.hpp"

namespace hemiola::synthesis {
namespace {

/// Hosts of 8 that share a NIC each, all on one switch: ports lead to 7 neighbours, too few to be wide, and to all others.
Channels hosts(int host_count) {
  const topologies::Host host{8, topologies::Wires::switched, {1000, 1e9, 0}, {{9000, 1e8, 0}}};
  return Channels(topologies::equal_hosts(host_count, host), 1 << 10, LatencyModel::pipelined);
}

bool passes(const Channels& channels, std::uint32_t channel, std::uint32_t link) {
  return std::ranges::any_of(channels.hops(channel), [&](const Hop& hop) { return hop.link == link; });
}

/// All marked open channels, as the ports name them.
std::vector<std::uint32_t> named(const WidePorts& ports, int first, const Channels& channels) {
  std::vector<std::uint32_t> found;
  ports.for_each_marked([&](std::uint32_t port) {
    for (int passed = 0; passed < channels.rank_count(); ++passed) {
      const std::uint32_t channel = ports.next_marked(port, first, &passed);
      if (channel == WidePorts::kNone) break;
      found.push_back(channel);
    }
  });
  return found;
}

TEST(WidePorts, AreThoseThatLeadToManyRanks) {
  const Channels channels = hosts(4);
  const SpeedClasses classes(channels);
  const WidePorts ports(channels, classes);
  for (std::uint32_t c = 0; c < channels.count(); ++c)
    EXPECT_EQ(ports.has(c), channels[c].src / 8 != channels[c].dst / 8);
  const Channels few = hosts(2);
  const SpeedClasses classes_of_few(few);
  EXPECT_FALSE(WidePorts(few, classes_of_few).has_any());
}

TEST(WidePorts, NameRanksRoundFromTheFirst) {
  const Channels channels = hosts(4);
  const SpeedClasses classes(channels);
  WidePorts ports(channels, classes);
  for (const int dst : {8, 20, 31}) ports.mark(channels.between(Rank{1}, Rank{dst}));
  std::vector<int> order;
  for (const std::uint32_t channel : named(ports, 20, channels))
    order.push_back(static_cast<int>(channels[channel].dst));
  EXPECT_EQ(order, (std::vector<int>{20, 31, 8}));
  ports.forget_marks();
  EXPECT_TRUE(named(ports, 0, channels).empty());
}

TEST(WidePorts, KeepWhatPairsKeptOneByOneSay) {
  const Channels channels = hosts(5);
  const SpeedClasses classes(channels);
  WidePorts ports(channels, classes);
  Random random(1);
  std::set<std::uint32_t> marked, closed;
  for (int turn = 0; turn < 400; ++turn) {
    const std::uint32_t link = random.below(channels.link_count());
    switch (random.below(4)) {
      case 0:
        ports.mark_over(link);
        for (std::uint32_t c = 0; c < channels.count(); ++c)
          if (ports.is_marked_over(c, link)) marked.insert(c);
        break;
      case 1:
        closed.contains(link) ? ports.open(link) : ports.close(link);
        closed.contains(link) ? static_cast<void>(closed.erase(link))
                              : static_cast<void>(closed.insert(link));
        break;
      case 2:
        if (const std::uint32_t c = random.below(channels.count()); ports.has(c)) {
          ports.mark(c);
          marked.insert(c);
        }
        break;
      default:
        if (turn % 5 == 0) {
          ports.forget_marks();
          marked.clear();
        }
    }
    std::set<std::uint32_t> expected;
    for (const std::uint32_t c : marked)
      if (std::ranges::none_of(closed, [&](std::uint32_t l) { return passes(channels, c, l); }))
        expected.insert(c);
    const std::vector<std::uint32_t> found = named(ports, static_cast<int>(random.below(40)), channels);
    EXPECT_EQ(std::set<std::uint32_t>(found.begin(), found.end()), expected) << "turn " << turn;
    EXPECT_EQ(found.size(), expected.size());
    for (std::uint32_t c = 0; c < channels.count(); ++c) {
      if (!ports.has(c)) continue;
      EXPECT_EQ(ports.is_channel_open(c),
                std::ranges::none_of(closed, [&](std::uint32_t l) { return passes(channels, c, l); }));
    }
  }
}

}  // namespace
}  // namespace hemiola::synthesis
