// SPDX-License-Identifier: Apache-2.0
// Communicators of threads: session, control plane, executor and wire together, where the sanitizers see all ranks.
#include "hemiola/runtime/communicator/communicator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "communicator_users.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

using testing::Array, testing::input_of, testing::on_users, testing::sparse_input_of, testing::sum_of,
    testing::User;

class CommunicatorOver : public testing::OverEachGround {};

TEST_P(CommunicatorOver, AllReducesOneSizeAfterTheOther) {
  for (const int ranks : {1, 2, 4})
    on_users(ranks, options(ranks), [&](User& user) {
      for (const std::size_t size : {1, 7, 1000, 20'000, 0, 3}) {
        Array x = input_of(user.rank(), size);
        user.comm().run(user.all_reduce(&x));
        EXPECT_EQ(x, sum_of(ranks, size));
      }
    });
}

TEST_P(CommunicatorOver, AllReducesLeavingZerosOut) {
  for (const int ranks : {1, 2, 4})
    on_users(ranks, options(ranks), [&](User& user) {
      for (const std::size_t size : {1, 7, 1000, 20'000, 0, 3}) {
        Array x = sparse_input_of(user.rank(), size), total = sparse_input_of(0, size);
        for (std::int32_t& element : total) element *= ranks * (ranks + 1) / 2;
        user.comm().run(user.sparse_all_reduce(&x));
        EXPECT_EQ(x, total);
      }
    });
}

TEST_P(CommunicatorOver, ADisagreementLeavesInputsAndTheCommunicatorIntact) {
  constexpr int kRanks = 3;
  on_users(kRanks, options(kRanks), [&](User& user) {
    for (int round = 0; round < 5; ++round) {
      const std::size_t size = user.rank() == round % kRanks ? 500 : 600;
      Array x = input_of(user.rank(), size);
      EXPECT_THROW(user.comm().run(user.all_reduce(&x)), MismatchError);
      EXPECT_EQ(x, input_of(user.rank(), size));
      Array y = input_of(user.rank(), 100);
      user.comm().run(user.all_reduce(&y));
      EXPECT_EQ(y, sum_of(kRanks, 100));
    }
  });
}

TEST_P(CommunicatorOver, AMistakeOfOneRankIsToldToAll) {
  constexpr int kRanks = 2;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 10);
    PreparedCall call = user.all_reduce(&x);
    if (user.rank() == 1) call.complaint = "no such thing";
    if (user.rank() == 1)
      EXPECT_THROW(user.comm().run(call), ArgumentError);
    else
      EXPECT_THROW(user.comm().run(call), MismatchError);
  });
}

TEST_P(CommunicatorOver, ARankThatStaysAwayEndsTheOperationAndTheCommunicator) {
  constexpr int kRanks = 3;
  std::atomic<int> done = 0;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 5000);
    if (user.rank() == 1) {  // it lives, and calls nothing
      while (done < kRanks - 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    EXPECT_THROW(user.comm().run(user.all_reduce(&x, 0.3)), TimeoutError);
    EXPECT_EQ(x, input_of(user.rank(), 5000));
    EXPECT_THROW(user.comm().run(user.all_reduce(&x)), TimeoutError);
    ++done;
  });
}

/// What a call throws, as text; empty where it is another error than a lost rank's, or none.
std::string loss_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const LostRankError& e) {
    return e.what();
  } catch (...) {
  }
  return "";
}

// Given a call that waits for a rank which does not come. Expect that closing ends it and everything after it, and that
// the others hear of a rank that has closed, not of one that has died.
TEST_P(CommunicatorOver, ClosingEndsTheCallOfAnotherThreadAndIsToldAsWhatItIs) {
  constexpr int kRanks = 3;
  std::atomic<int> done = 0;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 5000);
    const auto reduce = [&] { user.comm().run(user.all_reduce(&x)); };
    if (user.rank() == 2) {  // it lives, and calls nothing until the others have seen
      while (done < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_NE(loss_of(reduce).find("rank 1 has closed its communicator"), std::string::npos);
      return;
    }
    std::thread closing;
    if (user.rank() == 1)
      closing = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        user.comm().close();
      });
    EXPECT_NE(loss_of(reduce).find("rank 1 has closed its communicator"), std::string::npos);
    EXPECT_EQ(x, input_of(user.rank(), 5000));
    EXPECT_NE(loss_of(reduce), "");
    if (closing.joinable()) closing.join();
    EXPECT_THROW(user.comm().start(user.all_reduce(&x))->wait_for(60), LostRankError);
    ++done;
    while (done < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

// Given a rank that closes as soon as its own part of an operation is done, again and again. Expect that the others finish
// it, and that the next one names the rank without waiting for any timeout.
TEST_P(CommunicatorOver, ARankThatHasClosedAfterAnOperationDisturbsOnlyTheNext) {
  constexpr int kRanks = 3;
  for (int round = 0; round < 10; ++round)
    on_users(kRanks, options(kRanks), [&](User& user) {
      Array x = input_of(user.rank(), 300);
      user.comm().run(user.all_reduce(&x));
      EXPECT_EQ(x, sum_of(kRanks, 300));
      if (user.rank() == round % kRanks) return;
      const std::string text = loss_of([&] { user.comm().run(user.barrier()); });
      EXPECT_NE(text.find("has closed its communicator"), std::string::npos) << text;
    });
}

// Given a check that looks at what operations change, as a signal handler may. Expect what there was before.
TEST_P(CommunicatorOver, ALookFromWithinAnOperationSeesWhatWasBeforeIt) {
  constexpr int kRanks = 2;
  std::atomic<bool> seen = false;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 100);
    user.comm().run(user.all_reduce(&x));
    if (user.rank() == 0)
      while (!seen) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    user.comm().run(user.all_reduce(&x), [&] {
      EXPECT_EQ(user.comm().arrivals().size(), std::size_t{kRanks});
      user.comm().health();
      seen = true;
    });
  });
  EXPECT_TRUE(seen);
}

// Given a failure between two operations. Expect that what the one before has written stays.
TEST_P(CommunicatorOver, AFailureBetweenOperationsLeavesTheResultOfTheOneBefore) {
  constexpr int kRanks = 2;
  std::atomic<int> done = 0;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 5000);
    user.comm().run(user.all_reduce(&x));
    for (++done; done < kRanks;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    user.comm().break_off(std::make_exception_ptr(LostRankError("a rank is lost")));
    EXPECT_EQ(x, sum_of(kRanks, 5000));
  });
}

TEST_P(CommunicatorOver, OperationsInTheBackgroundRunInOrderBesideTheCaller) {
  constexpr int kRanks = 3;
  on_users(kRanks, options(kRanks), [&](User& user) {
    std::vector<Array> arrays;
    std::vector<std::shared_ptr<PendingOperation>> pending;
    for (std::size_t size = 1; size <= 8; ++size) arrays.push_back(input_of(user.rank(), 100 * size));
    for (Array& array : arrays) pending.push_back(user.comm().start(user.all_reduce(&array)));
    Array last = input_of(user.rank(), 5);
    user.comm().run(user.all_reduce(&last));
    EXPECT_EQ(last, sum_of(kRanks, 5));
    for (std::size_t i = 0; i < pending.size(); ++i) {
      EXPECT_TRUE(pending[i]->is_done());
      EXPECT_TRUE(pending[i]->wait_for(60));
      EXPECT_EQ(arrays[i], sum_of(kRanks, arrays[i].size()));
    }
  });
}

TEST_P(CommunicatorOver, ArrivalsAreNotedForEveryRank) {
  constexpr int kRanks = 2;
  on_users(kRanks, options(kRanks), [&](User& user) {
    Array x = input_of(user.rank(), 10);
    for (int i = 0; i < 3; ++i) user.comm().run(user.all_reduce(&x));
    EXPECT_EQ(user.comm().arrivals().size(), 3u * kRanks);
  });
}

TEST_P(CommunicatorOver, TheFirstRankToAskChoosesForAll) {
  constexpr int kRanks = 3;
  std::atomic<int> decisions = 0;
  on_users(kRanks, options(kRanks), [&](User& user) {
    for (const std::size_t size : {100, 100, 128, 5000}) {  // two up to 512 bytes, one beyond
      Array x = input_of(user.rank(), size);
      user.comm().run(user.all_reduce(&x));
      EXPECT_EQ(x, sum_of(kRanks, size));
    }
    decisions += user.decisions();
  });
  EXPECT_EQ(decisions, 2);
}

TEST_P(CommunicatorOver, AnAllReduceFindsItsLateRank) {
  constexpr int kRanks = 4;
  on_users(kRanks, options(kRanks), [&](User& user) {
    for (int late = 0; late < kRanks; ++late) {
      user.comm().run(user.barrier());
      if (user.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      Array x = input_of(user.rank(), 1200);
      user.comm().run(user.all_reduce(&x, 0, "late"));
      EXPECT_EQ(x, sum_of(kRanks, 1200));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, CommunicatorOver, testing::kGrounds, testing::name_of);

}  // namespace
}  // namespace hemiola
