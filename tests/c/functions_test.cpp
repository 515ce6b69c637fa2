// SPDX-License-Identifier: Apache-2.0
// The functions of hemiola.h where one process is all ranks, or threads are; tests/doors has processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "hemiola/c/hemiola.h"

namespace {

/// A name of this process's own.
std::string meeting() {
  static int count = 0;
  return "functions-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

constexpr double kLimit_s = 30;

hemiola_comm* alone() {
  hemiola_comm* comm = nullptr;
  EXPECT_EQ(hemiola_join(meeting().c_str(), 0, 1, kLimit_s, &comm), HEMIOLA_OK) << hemiola_error(nullptr);
  return comm;
}

/// Runs a function as each of some ranks, which are threads of this process.
template <typename Work>
void together(int ranks, Work work) {
  const std::string name = meeting();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      hemiola_comm* comm = nullptr;
      ASSERT_EQ(hemiola_join(name.c_str(), rank, ranks, kLimit_s, &comm), HEMIOLA_OK)
          << hemiola_error(nullptr);
      work(comm);
      EXPECT_EQ(hemiola_close(comm), HEMIOLA_OK) << hemiola_error(nullptr);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Functions, RunOnOneRank) {
  hemiola_comm* comm = alone();
  EXPECT_EQ(hemiola_rank(comm), 0);
  EXPECT_EQ(hemiola_size(comm), 1);
  std::array<std::int32_t, 3> in{1, 2, 3}, out{};
  EXPECT_EQ(hemiola_all_reduce(comm, in.data(), out.data(), 3, HEMIOLA_INT32, HEMIOLA_SUM), HEMIOLA_OK);
  EXPECT_EQ(out, in);
  EXPECT_EQ(hemiola_all_to_all(comm, in.data(), out.data(), 3, HEMIOLA_INT32), HEMIOLA_OK);
  EXPECT_EQ(hemiola_broadcast(comm, in.data(), 3, HEMIOLA_INT32, 0), HEMIOLA_OK);
  EXPECT_EQ(hemiola_barrier(comm), HEMIOLA_OK);
  EXPECT_EQ(hemiola_is_called(comm), 0);
  EXPECT_STREQ(hemiola_error(comm), "");
  EXPECT_EQ(hemiola_close(comm), HEMIOLA_OK);
}

TEST(Functions, RunOnThreadsOfOneProcess) {
  together(3, [](hemiola_comm* comm) {
    for (std::int64_t count : {1, 1000, 100000}) {
      std::vector<double> data(static_cast<std::size_t>(count), hemiola_rank(comm) + 1);
      ASSERT_EQ(hemiola_all_reduce(comm, data.data(), data.data(), count, HEMIOLA_FLOAT64, HEMIOLA_PRODUCT),
                HEMIOLA_OK)
          << hemiola_error(comm);
      EXPECT_EQ(data.back(), 6);
    }
  });
}

TEST(Functions, RepeatACallOnlyWhereAllOfItIsTheSame) {
  hemiola_comm* comm = alone();
  std::array<std::int32_t, 4> a{1, 2, 3, 4}, b{5, 6, 7, 8}, out{};
  for (int round = 0; round < 3; ++round) {
    for (const auto* in : {&a, &b}) {
      EXPECT_EQ(hemiola_all_reduce(comm, in->data(), out.data(), 4, HEMIOLA_INT32, HEMIOLA_SUM), HEMIOLA_OK);
      EXPECT_EQ(out, *in);
    }
    out = {};
    EXPECT_EQ(hemiola_all_reduce(comm, b.data(), out.data(), 2, HEMIOLA_INT32, HEMIOLA_SUM), HEMIOLA_OK);
    EXPECT_EQ(out, (std::array<std::int32_t, 4>{5, 6, 0, 0}));
    EXPECT_EQ(hemiola_all_reduce(comm, b.data(), nullptr, 2, HEMIOLA_INT32, HEMIOLA_SUM), HEMIOLA_INVALID);
    EXPECT_EQ(hemiola_all_reduce(comm, b.data(), out.data(), 2, HEMIOLA_INT32, HEMIOLA_AVERAGE),
              HEMIOLA_INVALID);
    EXPECT_EQ(hemiola_broadcast(comm, a.data(), 4, HEMIOLA_INT32, 0), HEMIOLA_OK);
    EXPECT_EQ(hemiola_broadcast(comm, a.data(), 4, HEMIOLA_INT32, 1), HEMIOLA_INVALID);
    a[0] += 1;
  }
  EXPECT_EQ(hemiola_close(comm), HEMIOLA_OK);
}

TEST(Functions, GiveAnErrorToItsThreadAndItsCommunicator) {
  hemiola_comm *first = alone(), *second = alone();
  EXPECT_EQ(hemiola_broadcast(first, nullptr, 1, HEMIOLA_INT8, 0), HEMIOLA_INVALID);
  const std::string error = hemiola_error(first);
  EXPECT_NE(error.find("expected memory"), std::string::npos) << error;
  EXPECT_EQ(hemiola_error(nullptr), error);
  EXPECT_STREQ(hemiola_error(second), "");
  std::thread([&] {
    EXPECT_STREQ(hemiola_error(nullptr), "");
    EXPECT_EQ(hemiola_error(first), error);
  }).join();
  EXPECT_EQ(hemiola_close(first), HEMIOLA_OK);
  EXPECT_EQ(hemiola_close(second), HEMIOLA_OK);
}

TEST(Functions, RefuseCommunicatorsThatAreNotOpen) {
  hemiola_comm* closed = alone();
  hemiola_close(closed);
  int nothing = 0;
  for (hemiola_comm* comm :
       {static_cast<hemiola_comm*>(nullptr), closed, reinterpret_cast<hemiola_comm*>(&nothing)}) {
    EXPECT_EQ(hemiola_barrier(comm), HEMIOLA_INVALID);
    EXPECT_EQ(hemiola_shrink(comm), HEMIOLA_INVALID);
    EXPECT_EQ(hemiola_grow(comm), HEMIOLA_INVALID);
    EXPECT_EQ(hemiola_leave(comm), HEMIOLA_INVALID);
    EXPECT_EQ(hemiola_close(comm), HEMIOLA_INVALID);
    EXPECT_EQ(hemiola_send(comm, &nothing, 1, HEMIOLA_INT32, 0, 0), HEMIOLA_INVALID);
    EXPECT_EQ(hemiola_rank(comm), -1);
    EXPECT_NE(std::string(hemiola_error(comm)).find("open communicator"), std::string::npos);
  }
}

TEST(Functions, CloseEndsTheCallsOfOtherThreads) {
  hemiola_comm* comm = nullptr;
  const std::string name = meeting();
  std::thread other([&] {
    hemiola_comm* own = nullptr;
    ASSERT_EQ(hemiola_join(name.c_str(), 1, 2, kLimit_s, &own), HEMIOLA_OK);
    std::int32_t one = 1;  // which rank 0 never sends
    EXPECT_EQ(hemiola_recv(own, &one, 1, HEMIOLA_INT32, 0, 5, nullptr), HEMIOLA_LOST_RANK);
    EXPECT_EQ(hemiola_close(own), HEMIOLA_OK);
  });
  ASSERT_EQ(hemiola_join(name.c_str(), 0, 2, kLimit_s, &comm), HEMIOLA_OK);
  std::thread waiting([&] {
    std::int32_t one = 1;
    EXPECT_NE(hemiola_recv(comm, &one, 1, HEMIOLA_INT32, 1, 5, nullptr), HEMIOLA_OK);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(hemiola_close(comm), HEMIOLA_OK);
  waiting.join();
  other.join();
}

TEST(Functions, LeaveTheLastRankOfAJob) {
  hemiola_comm* comm = alone();
  EXPECT_EQ(hemiola_leave(comm), HEMIOLA_OK);
  EXPECT_EQ(hemiola_barrier(comm), HEMIOLA_OK);
  EXPECT_EQ(hemiola_is_called(comm), 1);
  EXPECT_EQ(hemiola_grow(comm), HEMIOLA_LEFT);
  EXPECT_EQ(hemiola_grow(comm), HEMIOLA_LEFT);
  EXPECT_EQ(hemiola_barrier(comm), HEMIOLA_INVALID);
  EXPECT_EQ(hemiola_close(comm), HEMIOLA_OK);
}

TEST(Functions, ShrinkAndGrowOfACompleteJobKeepItsRanks) {
  together(2, [](hemiola_comm* comm) {
    EXPECT_EQ(hemiola_grow(comm), HEMIOLA_OK) << hemiola_error(comm);
    EXPECT_EQ(hemiola_shrink(comm), HEMIOLA_OK) << hemiola_error(comm);
    std::int64_t one = 1;
    EXPECT_EQ(hemiola_all_reduce(comm, &one, &one, 1, HEMIOLA_INT64, HEMIOLA_SUM), HEMIOLA_OK);
    EXPECT_EQ(one, 2);
  });
}

}  // namespace
