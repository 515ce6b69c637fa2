// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/progress_threads.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace hemiola {
namespace {

/// Lets those through that wait, once as many as were expected have come.
class Gate {
 public:
  explicit Gate(int expected) : expected_(expected) {}

  void pass() {
    std::unique_lock lock(mutex_);
    ++come_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return come_ >= expected_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int expected_, come_ = 0;
};

TEST(ProgressThreads, NoneIsBegunBeforeThereIsSomethingToDo) {
  ProgressThreads threads;
  ProgressTask task(&threads, [] { return false; });
  EXPECT_EQ(threads.count(), 0);
}

// Given groups that each have something to do once the one before is done. Expect one thread.
TEST(ProgressThreads, OneServesManyGroups) {
  ProgressThreads threads;
  std::set<std::thread::id> seen;
  for (int group = 0; group < 64; ++group) {
    std::atomic<bool> is_done = false;
    ProgressTask task(&threads, [&] {
      seen.insert(std::this_thread::get_id());
      is_done = true;
      return false;
    });
    task.wake();
    while (!is_done) std::this_thread::yield();
    task.end();
    while (threads.resting() < threads.count()) std::this_thread::yield();
  }
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_EQ(threads.count(), 1);
}

// Given as many groups as wait for each other. Expect a thread for each; with fewer this does not end.
TEST(ProgressThreads, GroupsThatWaitForEachOtherHaveAThreadEach) {
  constexpr int kGroups = 64;
  ProgressThreads threads;
  for (int round = 0; round < 3; ++round) {
    Gate gate(kGroups + 1);
    std::vector<std::unique_ptr<ProgressTask>> tasks;
    for (int group = 0; group < kGroups; ++group)
      tasks.push_back(std::make_unique<ProgressTask>(&threads, [&] {
        gate.pass();
        return false;
      }));
    for (const auto& task : tasks) task->wake();
    gate.pass();  // an end before a step has begun would be that step's
    for (const auto& task : tasks) task->end();
    EXPECT_GE(threads.count(), kGroups);
    EXPECT_LE(threads.count(), 2 * kGroups);
  }
}

TEST(ProgressThreads, ATaskRunsAgainUntilItHasNothingMoreToDo) {
  ProgressThreads threads;
  std::atomic<int> steps = 0;
  ProgressTask task(&threads, [&] { return ++steps < 5; });
  task.wake();
  while (steps < 5) std::this_thread::yield();
  task.end();
  EXPECT_EQ(steps, 5);
}

// Given a task woken while its step runs, which may have looked already. Expect another step.
TEST(ProgressThreads, WakingIsNeverLost) {
  ProgressThreads threads;
  std::atomic<int> asked = 0, seen = 0;
  ProgressTask task(&threads, [&] {
    seen = asked.load();
    return false;
  });
  for (int i = 0; i < 20'000; ++i) {
    const int mine = ++asked;
    task.wake();
    while (seen < mine) std::this_thread::yield();
  }
  EXPECT_EQ(seen, 20'000);
}

TEST(ProgressThreads, ATaskRunsInOneThreadAtATime) {
  ProgressThreads threads;
  std::atomic<int> inside = 0, most = 0, steps = 0;
  ProgressTask task(&threads, [&] {
    most = std::max(most.load(), ++inside);
    ++steps;
    --inside;
    return false;
  });
  std::vector<std::thread> wakers;
  for (int i = 0; i < 4; ++i)
    wakers.emplace_back([&] {
      for (int k = 0; k < 2000; ++k) task.wake();
    });
  for (std::thread& waker : wakers) waker.join();
  while (steps == 0) std::this_thread::yield();
  task.end();
  EXPECT_EQ(most, 1);
}

TEST(ProgressThreads, NoStepBeginsAfterTheEnd) {
  ProgressThreads threads;
  std::atomic<int> steps = 0;
  ProgressTask task(&threads, [&] {
    ++steps;
    return true;
  });
  task.wake();
  while (steps < 100) std::this_thread::yield();
  task.end();
  const int at_the_end = steps;
  task.wake();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(steps, at_the_end);
}

// Given a step that takes its own task, and the threads, apart. Expect an end.
TEST(ProgressThreads, AStepMayEndItsTaskAndTheThreads) {
  auto threads = std::make_unique<ProgressThreads>();
  std::optional<ProgressTask> task;
  std::atomic<bool> is_done = false;
  task.emplace(threads.get(), [&] {
    task.reset();
    threads.reset();
    is_done = true;
    return true;
  });
  task->wake();
  while (!is_done) std::this_thread::yield();
}

// Given threads that rest, one of them once more than the other, and a child that is forked then. Expect that it may let go
// of its copy, whose threads it has not.
TEST(ProgressThreads, AForkedChildMayLetGoOfThem) {
  auto threads = std::make_unique<ProgressThreads>();
  const auto both_rest = [&] {
    while (threads->resting() < 2) std::this_thread::yield();
  };
  Gate gate(2);
  const ProgressTask::Step pass = [&] {
    gate.pass();
    return false;
  };
  ProgressTask one(threads.get(), pass), other(threads.get(), pass);
  one.wake();
  other.wake();
  both_rest();
  one.wake();
  one.end();
  both_rest();
  const pid_t child = ::fork();
  if (child == 0) {
    threads.reset();
    ::_exit(0);
  }
  int status = -1;
  pid_t ended = 0;
  for (int waited_ms = 0; waited_ms < 20'000 && ended == 0; ++waited_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ended = ::waitpid(child, &status, WNOHANG);
  }
  if (ended == 0) ::kill(child, SIGKILL);
  EXPECT_EQ(ended, child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hemiola
