// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/trials.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/started_thread.hpp"

namespace hemiola::synthesis {
namespace {

constexpr auto kTrialsReport = std::chrono::milliseconds(50);

class Run {
 public:
  Run(const TrialOptions& options, SearchState* state,
      const std::function<Candidate(int, SearchState*)>& search)
      : options_(options), state_(*state), search_(search), first_optimal_(options.trials) {}

  TrialResult operator()() {
    const int count = std::max(1, std::min(options_.threads, options_.trials));
    if (count == 1) return in_this_thread();
    running_ = count;
    std::vector<std::thread> workers;
    while (static_cast<int>(workers.size()) < count && add_helper(workers, [this] { work(); })) {
    }
    if (workers.empty()) return in_this_thread();
    {
      const std::lock_guard lock(mutex_);
      running_ -= count - static_cast<int>(workers.size());
    }
    try {
      report_until_finished();
    } catch (...) {
      fail(std::current_exception());
    }
    for (std::thread& worker : workers) worker.join();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(result_);
  }

 private:
  /// So that the caller's budget pays.
  TrialResult in_this_thread() {
    auto reported = std::chrono::steady_clock::now();
    const std::function<void()> report = [&] {
      if (std::chrono::steady_clock::now() - reported < kTrialsReport) return;
      if (!options_.report(state_)) state_.stop();
      reported = std::chrono::steady_clock::now();
    };
    const BudgetScope counted(&spent_);
    if (options_.report) {
      const InterruptScope scope(report);
      try_all();
    } else {
      try_all();
    }
    return std::move(result_);
  }

  void work() {
    try {
      try_all();
    } catch (...) {
      fail(std::current_exception());
    }
    std::lock_guard lock(mutex_);
    --running_;
    finished_.notify_one();
  }

  void try_all() {
    for (int trial = next_.fetch_add(1); trial <= first_optimal_.load() && trial < options_.trials;
         trial = next_.fetch_add(1)) {
      if (state_.is_stopped() || !has_operations_for(trial)) break;
      keep_if_better(trial, search_(trial, &state_));
    }
  }

  bool has_operations_for(int trial) const {
    return trial == 0 || spent_.spent() / trial <= options_.operations - spent_.spent();
  }

  /// Trials behind the first optimal one are ignored even where they were faster to finish: it wins ties anyway.
  void keep_if_better(int trial, Candidate candidate) {
    if (!candidate.complete) return;
    std::lock_guard lock(mutex_);
    ++result_.finished;
    if (candidate.duration <= options_.bound && trial < first_optimal_) first_optimal_ = trial;
    const bool better = result_.best_trial < 0 || candidate.duration < result_.best.duration ||
                        (candidate.duration == result_.best.duration && trial < result_.best_trial);
    if (!better) return;
    result_.best = std::move(candidate);
    result_.best_trial = trial;
  }

  void report_until_finished() {
    std::unique_lock lock(mutex_);
    while (!finished_.wait_for(lock, kTrialsReport, [this] { return running_ == 0; })) {
      if (!options_.report) continue;
      lock.unlock();
      if (!options_.report(state_)) state_.stop();
      lock.lock();
    }
  }

  void fail(std::exception_ptr failure) {
    state_.stop();
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
  }

  const TrialOptions& options_;
  SearchState& state_;
  const std::function<Candidate(int, SearchState*)>& search_;
  std::atomic<int> next_{0};
  std::atomic<int> first_optimal_;
  std::mutex mutex_;
  std::condition_variable finished_;
  int running_ = 0;
  TrialResult result_;
  std::exception_ptr failure_;
  Budget spent_;  ///< by the calling thread
};

}  // namespace

TrialResult run_trials(const TrialOptions& options, SearchState* state,
                       const std::function<Candidate(int trial, SearchState* state)>& search) {
  return Run(options, state, search)();
}

}  // namespace hemiola::synthesis
