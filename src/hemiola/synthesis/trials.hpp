// SPDX-License-Identifier: Apache-2.0
// Several searches with different seeds, on several threads; the best one counts. The answer depends on the seeds, not
// on how many threads there are or which is faster.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/synthesis/network/sends.hpp"

namespace hemiola::synthesis {

/// What a running search tells its surroundings, and the other way round. Shared by all trials of a run.
class SearchState {
 public:
  /// To be called now and then with the number of sends decided since; false: give up.
  bool advance(std::int64_t sends) {
    done_.fetch_add(sends, std::memory_order_relaxed);
    return !stop_.load(std::memory_order_relaxed);
  }
  void stop() { stop_.store(true, std::memory_order_relaxed); }
  bool is_stopped() const { return stop_.load(std::memory_order_relaxed); }
  std::int64_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> done_{0};
  std::atomic<bool> stop_{false};
};

/// One search's result; `complete` is false where it gave up.
struct Candidate {
  Sends sends;
  Picoseconds duration = 0;
  bool complete = false;
};

struct TrialOptions {
  int trials = 1;
  int threads = 1;
  /// Trials after the first begin only while one more like those before fits into so many operations (base/interrupt.hpp)
  /// of all together. For one thread.
  std::int64_t operations = Budget::kUnlimited;
  /// No search can be faster: the first trial (lowest number) that is this fast ends the run.
  Picoseconds bound = 0;
  /// Called from the calling thread about every 50 ms; false stops the run, which then returns the best so far.
  std::function<bool(const SearchState&)> report;
};

struct TrialResult {
  Candidate best;
  int best_trial = -1;  ///< -1: stopped before any trial was complete
  int finished = 0;
};

/// `search(trial, state)` is called for trials 0 … trials-1, from several threads at once, or from this one if one will
/// do: its budget then pays, and `report` is called where the search hears an interrupt. The fastest wins; of equally
/// fast ones the lowest number. Rethrows what a search or `report` throws.
TrialResult run_trials(const TrialOptions& options, SearchState* state,
                       const std::function<Candidate(int trial, SearchState* state)>& search);

}  // namespace hemiola::synthesis
