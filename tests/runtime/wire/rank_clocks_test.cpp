// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/shm/rank_clocks.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <thread>

namespace hemiola {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void work(milliseconds length) {
  for (const auto end = Clock::now() + length; Clock::now() < end;) {
  }
}

/// Two cards in memory that a child has, too.
class RankClocksTest : public ::testing::Test {
 protected:
  RankClocksTest() {
    void* const memory =
        ::mmap(nullptr, 2 * sizeof(MemoryCard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    cards_ = static_cast<MemoryCard*>(memory);
  }
  ~RankClocksTest() override { ::munmap(cards_, 2 * sizeof(MemoryCard)); }

  RankClocks clocks() const { return RankClocks({PeerMemory(cards_[0]), PeerMemory(cards_[1])}); }

  MemoryCard* cards_;
};

TEST_F(RankClocksTest, ThreadsOfOneProcessCountOnce) {
  const MemoryOwner one(cards_[0]), other(cards_[1]);
  const auto before = clocks().read();
  work(milliseconds(20));
  const auto after = clocks().read();
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->processes, 1);
  EXPECT_GT(after->taken, before->taken);
  EXPECT_LE(after->taken - before->taken, after->at - before->at + milliseconds(1));
  cpu_set_t cores;
  ASSERT_EQ(::sched_getaffinity(0, sizeof cores, &cores), 0);
  EXPECT_EQ(after->cores, CPU_COUNT(&cores));
}

TEST_F(RankClocksTest, AnotherProcessIsSeenToWork) {
  const MemoryOwner own(cards_[0]);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const MemoryOwner its(cards_[1]);
    work(std::chrono::seconds(60));
    ::_exit(0);
  }
  while (!PeerMemory(cards_[1]).is_readable()) std::this_thread::yield();
  const auto before = clocks().read();
  std::optional<CoreUse> after;
  do {
    std::this_thread::sleep_for(milliseconds(10));
    after = clocks().read();
  } while (after && before && after->taken < before->taken + milliseconds(50));
  EXPECT_TRUE(before && after);
  EXPECT_EQ(after ? after->processes : 0, 2);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(clocks().read()) << "a process that is gone has no clock";
}

TEST_F(RankClocksTest, NothingIsReadWhereAProcessMayBeAnother) {
  const MemoryOwner own(cards_[0]), other(cards_[1]);
  cards_[1].token.fetch_add(1);
  EXPECT_FALSE(clocks().read());
}

TEST(CoreUse, IsOursWhereStrangersCannotHaveBeenThere) {
  const auto were_ours = [](double share, int cores, int processes) {
    const Clock::time_point begin;
    const std::chrono::nanoseconds taken(static_cast<std::int64_t>(share * cores * 1e9));
    return CoreUseMeter::were_ours({begin, {}, cores, processes},
                                   {begin + std::chrono::seconds(1), taken, cores, processes});
  };
  EXPECT_TRUE(were_ours(0.84, 2, 4));
  EXPECT_FALSE(were_ours(0.82, 2, 4));
  EXPECT_TRUE(were_ours(0.91, 1, 4));
  EXPECT_FALSE(were_ours(0.89, 1, 4));
}

}  // namespace
}  // namespace hemiola
