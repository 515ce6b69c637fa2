// SPDX-License-Identifier: Apache-2.0
// Random schedules through both network models, for the sanitizers: every slot, port and queue is used in every order.
#include "hemiola/simulate/simulate.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/simulate/trace.hpp"

namespace hemiola {
namespace {

Topology random_topology(Random* random, int ranks) {
  const auto bandwidth = [&] { return 1e9 + random->below(1000) * 1e6; };
  std::vector<Link> links;
  for (int r = 1; r < ranks; ++r) {
    const Vertex here{r}, there{random->below(static_cast<std::uint32_t>(r))};
    links.push_back({here, there, random->below(1000), bandwidth()});
    links.push_back({there, here, random->below(1000), bandwidth()});
  }
  const Vertex hub{ranks};
  for (int r = 0; r < ranks; r += 2) {
    links.push_back({Vertex{r}, hub, random->below(1000), bandwidth()});
    links.push_back({hub, Vertex{r}, random->below(1000), bandwidth()});
  }
  return Topology("random", ranks, 1, links);
}

Schedule random_schedule(Random* random, int ranks) {
  const std::uint32_t chunks = 1 + random->below(5);
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, ranks, chunks));
  for (std::uint32_t i = random->below(200); i > 0; --i) {
    const std::uint32_t src = random->below(static_cast<std::uint32_t>(ranks));
    const std::uint32_t hop = 1 + random->below(static_cast<std::uint32_t>(ranks - 1));
    builder.add({Step{random->below(10)}, Rank{src}, Rank{(src + hop) % static_cast<std::uint32_t>(ranks)},
                 Chunk{random->below(chunks)}, random->below(2) == 0});
  }
  return builder.finish();
}

TEST(Simulate, EveryScheduleEndsAndEverySentTransferLands) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int ranks = 2 + static_cast<int>(random.below(7));
    const Topology topology = random_topology(&random, ranks);
    const Schedule schedule = random_schedule(&random, ranks);
    Conditions conditions;
    conditions.late[Rank{0}] = random.below(100000);
    conditions.slow[Rank{1}] = 1 + random.below(3);
    for (const LinkSharing network : {LinkSharing::fifo, LinkSharing::fluid}) {
      SimulateOptions options;
      options.network = network;
      options.keep_spans = true;
      const Timeline timeline = simulate(schedule, topology, 100, conditions, options);
      ASSERT_EQ(timeline.landed.size(), static_cast<std::size_t>(schedule.transfer_count()));
      for (const Picoseconds landed : timeline.landed) EXPECT_LE(landed, timeline.duration);
      MemorySink sink;
      write_trace(schedule, topology, 100, timeline, &sink);
      EXPECT_FALSE(sink.bytes().empty());
    }
  }
}

TEST(Simulate, WhatProgressThrowsEndsTheRun) {
  struct Stop {};
  ScheduleBuilder builder(Collective::make(CollectiveKind::broadcast, 2, 1));
  for (int step = 0; step < 100000; ++step) builder.copy(Step{step}, Rank{0}, Rank{1}, Chunk{0});
  const Schedule schedule = builder.finish();
  const Topology topology("pair", 2, 0, {{Vertex{0}, Vertex{1}, 0, 1e9}});
  for (const LinkSharing network : {LinkSharing::fifo, LinkSharing::fluid}) {
    std::int64_t calls = 0;
    SimulateOptions options;
    options.network = network;
    options.progress = [&](std::int64_t landed, std::int64_t total) {
      EXPECT_LT(landed, total);
      if (++calls == 2) throw Stop{};
    };
    EXPECT_THROW(simulate(schedule, topology, 100, {}, options), Stop);
    EXPECT_EQ(calls, 2);
  }
}

}  // namespace
}  // namespace hemiola
