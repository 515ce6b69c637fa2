// SPDX-License-Identifier: Apache-2.0
// Which ports are one to a search for cheapest ways, on networks where that can be said by hand.
#include "hemiola/synthesis/delivery/port_groups.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "hemiola/topology/builders/dgx.hpp"
#include "hemiola/topology/builders/ring.hpp"
#include "hemiola/topology/builders/switch.hpp"

namespace hemiola::synthesis {
namespace {

constexpr topologies::LinkCost kCost{1000, 1e9};

Channels channels_of(const Topology& topology) {
  return Channels(topology, 1024, LatencyModel::pipelined);
}

TEST(PortGroups, PortsOfOneSwitchAreOneGroup) {
  const Channels channels = channels_of(topologies::switch_(5, kCost));
  const PortGroups ports(channels);
  EXPECT_EQ(ports.group_count(), 1u);
  for (int rank = 0; rank < 5; ++rank) {
    ASSERT_EQ(ports.first_of(rank), static_cast<std::uint32_t>(rank));
    EXPECT_EQ(ports.channels(ports.first_of(rank)).size(), 4u);
  }
  EXPECT_EQ(ports.first_of(5), 5u);
}

TEST(PortGroups, LinksBetweenRanksHaveAPortEach) {
  const Channels channels = channels_of(topologies::ring(4, kCost));
  const PortGroups ports(channels);
  EXPECT_EQ(ports.first_of(4), 8u);
  EXPECT_EQ(ports.group_count(), 8u);
  for (std::uint32_t port = 0; port < 8; ++port) EXPECT_EQ(ports.channels(port).size(), 1u);
}

TEST(PortGroups, EveryBoxAndEveryRailIsAGroup) {
  // Three boxes of eight with a rail per GPU: a rank reaches seven of its box and two of its rail.
  const Channels channels =
      channels_of(topologies::dgx_rack("racked", {.box_count = 3, .nvlink = kCost, .card = kCost}));
  const PortGroups ports(channels);
  EXPECT_EQ(ports.first_of(24), 48u);
  EXPECT_EQ(ports.group_count(), 3u + 8u);
  std::set<std::pair<std::uint32_t, std::size_t>> kinds;
  for (std::uint32_t port = 0; port < 48; ++port)
    kinds.emplace(ports.group(port), ports.channels(port).size());
  EXPECT_EQ(kinds.size(), 11u);
}

TEST(PortGroups, APortThatLeadsToFewerRanksIsNotOfTheGroup) {
  // Ranks 0 … 3 on a switch, 3 by a link out of it only: nobody reaches 3, which reaches all.
  const Vertex hub{4};
  std::vector<Link> links;
  for (int rank = 0; rank < 4; ++rank) {
    links.push_back({Vertex{rank}, hub, 1000, 1e9});
    if (rank < 3) links.push_back({hub, Vertex{rank}, 1000, 1e9});
  }
  const Channels channels = channels_of(Topology("one way", 4, 1, links));
  const PortGroups ports(channels);
  ASSERT_EQ(ports.first_of(4), 4u);
  EXPECT_EQ(ports.group(0), ports.group(1));
  EXPECT_EQ(ports.group(0), ports.group(2));
  EXPECT_NE(ports.group(0), ports.group(3));
}

}  // namespace
}  // namespace hemiola::synthesis
