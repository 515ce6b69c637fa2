// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hemiola/base/random.hpp"

namespace hemiola::simulation {
namespace {

using Queue = EventQueue<int>;

std::vector<int> drain(Queue* queue) {
  std::vector<int> payloads;
  while (!queue->empty()) payloads.push_back(queue->pop().payload);
  return payloads;
}

TEST(EventQueue, PopsInOrderOfTime) {
  Queue queue;
  for (int time : {5, 1, 1 << 20, 4, 0, 3}) queue.push(time, time);
  EXPECT_EQ(drain(&queue), (std::vector<int>{0, 1, 3, 4, 5, 1 << 20}));
}

TEST(EventQueue, KeepsTheOrderOfInsertionAtEqualTimes) {
  Queue queue;
  queue.push(100, 0);
  queue.push(7, 1);
  queue.push(100, 2);
  EXPECT_EQ(queue.pop().payload, 1);
  queue.push(100, 3);  // now nearer, so into another bucket than its equals were put at first
  EXPECT_EQ(drain(&queue), (std::vector<int>{0, 2, 3}));
}

TEST(EventQueue, TakesEventsOfTheTimeThatIsBeingPopped) {
  Queue queue;
  queue.push(9, 0);
  EXPECT_EQ(queue.pop().payload, 0);
  EXPECT_FALSE(queue.has_more_now());
  queue.push(9, 1);
  EXPECT_TRUE(queue.has_more_now());
  queue.push(10, 2);
  EXPECT_EQ(drain(&queue), (std::vector<int>{1, 2}));
}

TEST(EventQueue, HoldsTimesUpToTheLargest) {
  Queue queue;
  const Picoseconds latest = INT64_MAX;
  queue.push(latest, 1);
  queue.push(latest - 1, 0);
  EXPECT_EQ(queue.pop().time, latest - 1);
  EXPECT_EQ(queue.pop().time, latest);
}

/// Against std::stable_sort by time, with pushes in between that never go back.
TEST(EventQueue, AgreesWithAStableSortUnderRandomUse) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Queue queue;
    std::vector<std::pair<Picoseconds, int>> waiting;
    Picoseconds now = 0;
    for (int step = 0, payload = 0; step < 2000; ++step) {
      if (random.below(2) == 0) {
        const Picoseconds time = now + (random.below(3) == 0 ? 0 : random.below(1u << random.below(31)));
        queue.push(time, payload);
        waiting.emplace_back(time, payload++);
      } else if (!queue.empty()) {
        const auto first = std::min_element(waiting.begin(), waiting.end(),
                                            [](const auto& a, const auto& b) { return a.first < b.first; });
        const auto event = queue.pop();
        ASSERT_EQ(std::pair(event.time, event.payload), *first);
        now = event.time;
        waiting.erase(first);
      }
    }
  }
}

}  // namespace
}  // namespace hemiola::simulation
