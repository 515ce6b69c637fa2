// SPDX-License-Identifier: Apache-2.0
// The threads in which the groups of a job go on while their callers do something else. They belong to the job: a group
// has one for as long as it has something to do there, and the next group gets it afterwards. As many groups as have
// something to do at one time have a thread each, since one may wait for the work of another one on some other rank.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "hemiola/base/home_process.hpp"

namespace hemiola {

class ProgressThreads {
 public:
  ProgressThreads();
  /// Waits for the running work; not for the thread that calls this.
  ~ProgressThreads();
  ProgressThreads(const ProgressThreads&) = delete;

  /// How many there are: those that run something, and those that rest. None ends before the job does.
  int count() const;
  /// How many of them rest.
  int resting() const;

 private:
  friend class ProgressTask;
  struct Shared;

  /// Runs `work`, which throws nothing, in a thread that rests, or else in one more. Throws LostRankError where there is
  /// no room for that.
  void run(std::function<void()> work);

  HomeProcess home_;
  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;  ///< guarded by the shared lock
};

/// The work of one group in such a thread, in one at a time.
class ProgressTask {
 public:
  /// Does a part of the work and throws nothing; false once no work is left, until it is woken again.
  using Step = std::function<bool()>;

  ProgressTask(ProgressThreads* threads, Step step);
  ~ProgressTask() { end(); }
  ProgressTask(const ProgressTask&) = delete;

  /// There is something to do. Throws as ProgressThreads::run does.
  void wake();
  /// Waits until no step runs, and none will any more; a step that calls this is the last.
  void end();

 private:
  struct Shared;

  ProgressThreads* threads_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace hemiola
