// SPDX-License-Identifier: Apache-2.0
// Several communicators of one rank, and what follows an operation.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "communicator_users.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

using testing::all_of, testing::Array, testing::input_of, testing::on_ranks, testing::on_users,
    testing::Setting, testing::sum_of, testing::User;

class GroupsOver : public testing::OverEachGround {};

TEST_P(GroupsOver, GroupsWorkSideBySide) {
  constexpr int kRanks = 4;
  const Setting setting = options(kRanks);
  on_ranks(kRanks, setting, [&](Rank rank, const std::shared_ptr<Session>& session) {
    const bool odd = rank % 2 == 1;
    User pair(session, odd ? std::vector{Rank{1}, Rank{3}} : std::vector{Rank{0}, Rank{2}}, setting.options);
    for (std::size_t size : {3000, 10}) {
      Array x = input_of(rank, size), expected = input_of(odd ? 1 : 0, size);
      const Array other = input_of(odd ? 3 : 2, size);
      std::transform(expected.begin(), expected.end(), other.begin(), expected.begin(), std::plus<>());
      pair.comm().run(pair.all_reduce(&x));
      EXPECT_EQ(x, expected);
    }
  });
}

/// Runs `body` on a thread per rank, each with several communicators of all of them over one session.
void on_groups(const Setting& setting, int rank_count, int group_count,
               const std::function<void(Session&, std::deque<User>&)>& body) {
  on_ranks(rank_count, setting, [&](Rank, const std::shared_ptr<Session>& session) {
    std::deque<User> groups;
    for (int group = 0; group < group_count; ++group)
      groups.emplace_back(session, all_of(rank_count), setting.options);
    body(*session, groups);
  });
}

// Given groups whose operations in the background are over before the next one's begin. Expect that a thread serves many.
TEST_P(GroupsOver, GroupsThatTakeTurnsShareAThread) {
  constexpr int kGroups = 8;
  on_groups(options(2), 2, kGroups, [&](Session& session, std::deque<User>& groups) {
    EXPECT_EQ(session.progress.count(), 0);
    for (User& group : groups) {
      Array x = input_of(group.rank(), 100);
      EXPECT_TRUE(group.comm().start(group.all_reduce(&x))->wait_for(60));
      EXPECT_EQ(x, sum_of(2, 100));
      while (session.progress.resting() < session.progress.count()) std::this_thread::yield();
    }
    EXPECT_EQ(session.progress.count(), 1);
  });
}

// Given groups that ranks use in opposite orders. Expect results: each waits for a rank that is about to use another one.
TEST_P(GroupsOver, GroupsMayBeUsedInDifferentOrdersInTheBackground) {
  constexpr std::size_t kGroups = 8;
  on_groups(options(2), 2, kGroups, [&](Session&, std::deque<User>& groups) {
    std::vector<Array> arrays(kGroups, input_of(groups.front().rank(), 100));
    std::vector<std::shared_ptr<PendingOperation>> pending;
    for (std::size_t i = 0; i < kGroups; ++i) {
      const std::size_t which = groups.front().rank() == 0 ? i : kGroups - 1 - i;
      pending.push_back(groups[which].comm().start(groups[which].all_reduce(&arrays[which])));
    }
    for (const auto& operation : pending) EXPECT_TRUE(operation->wait_for(60));
    for (const Array& array : arrays) EXPECT_EQ(array, sum_of(2, 100));
  });
}

// Given what follows an operation in the background, in its thread. Expect that it may wait for what comes after only
// where nobody else has to come first.
TEST_P(GroupsOver, WhatFollowsAnOperationMayNotWaitForThoseOfItsOwnThread) {
  on_users(2, options(2), [&](User& user) {
    Array first = input_of(user.rank(), 10), second = first, third = first;
    std::string told;
    std::atomic<bool> has_run = false;
    const std::function<void()> wait = [&] {
      try {
        user.comm().run(user.all_reduce(&third));
        has_run = true;
      } catch (const ArgumentError& error) {
        told = error.what();
      }
    };
    // Rank 1 comes once both have what follows, so that it is called where they run.
    if (user.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto one = user.comm().start(user.all_reduce(&first));
    if (user.rank() == 0) one->when_done(wait);
    const auto two = user.comm().start(user.all_reduce(&second));
    if (user.rank() == 0) two->when_done(wait);
    EXPECT_TRUE(two->wait_for(60));
    if (user.rank() == 1) user.comm().run(user.all_reduce(&third));
    while (user.rank() == 0 && !has_run) std::this_thread::yield();
    EXPECT_EQ(third, sum_of(2, 10));
    EXPECT_EQ(told.find("a callback of an operation in the background"),
              user.rank() == 0 ? 0 : std::string::npos);
  });
}

// Given a communicator that ends with what follows its operation, in that operation's thread. Expect that it ends, and that
// those it had yet to run fail.
TEST_P(GroupsOver, WhatFollowsAnOperationMayBeTheCommunicatorsEnd) {
  constexpr int kRanks = 2;
  const Setting setting = options(kRanks);
  on_ranks(kRanks, setting, [&](Rank rank, const std::shared_ptr<Session>& session) {
    std::optional<User> user;
    user.emplace(session, all_of(kRanks), setting.options);
    Array first = input_of(rank, 10), second = first;
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto one = user->comm().start(user->all_reduce(&first));
    std::atomic<bool> has_ended = false;
    if (rank == 1) {
      EXPECT_TRUE(one->wait_for(60));
      return;
    }
    const auto two = user->comm().start(user->all_reduce(&second));
    one->when_done([&] {
      user.reset();
      has_ended = true;
    });
    EXPECT_TRUE(one->wait_for(60));
    EXPECT_THROW(two->wait_for(60), LostRankError);
    while (!has_ended) std::this_thread::yield();
  });
}

INSTANTIATE_TEST_SUITE_P(, GroupsOver, testing::kGrounds, testing::name_of);

}  // namespace
}  // namespace hemiola
