// SPDX-License-Identifier: Apache-2.0
// A slot has one number, whether slots are numbered by rank and chunk or as they are used.
#include "hemiola/synthesis/network/send_places.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "hemiola/base/random.hpp"
#include "hemiola/topology/builders/fully_connected.hpp"

namespace hemiola::synthesis {
namespace {

TEST(SendPlaces, ASlotHasOneNumberBelowTheirCount) {
  constexpr int ranks = 10, chunks = 50;
  const Channels channels(topologies::fully_connected(ranks, {1000, 1e9}), 1024, LatencyModel::pipelined);
  for (const int count : {0, 1, 100, 2000}) {
    SCOPED_TRACE(count);
    Random random(1);
    Sends sends;
    for (int i = 0; i < count; ++i)
      sends.push_back({0, random.below(channels.count()), random.below(chunks)});
    const SendPlaces places(channels, sends, chunks);
    if (count == 1) {
      EXPECT_EQ(places.count(), 2u);
    }
    std::map<std::pair<int, std::uint32_t>, std::size_t> place_of;
    std::set<std::size_t> given;
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const Channel& ends = channels[sends[i].channel];
      const auto check = [&](Rank rank, std::size_t place) {
        EXPECT_LT(place, places.count());
        EXPECT_EQ(place_of.try_emplace({rank, sends[i].chunk}, place).first->second, place);
        given.insert(place);
      };
      check(ends.src, places.from(i));
      check(ends.dst, places.to(i));
    }
    EXPECT_EQ(given.size(), place_of.size());
  }
}

}  // namespace
}  // namespace hemiola::synthesis
