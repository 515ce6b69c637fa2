// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/synthesize.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/synthesis/delivery/delivery_search.hpp"
#include "hemiola/synthesis/flood/flood_search.hpp"
#include "hemiola/synthesis/flood/tick_columns.hpp"
#include "hemiola/synthesis/flood/translates.hpp"
#include "hemiola/synthesis/network/assemble.hpp"
#include "hemiola/synthesis/network/phases.hpp"
#include "hemiola/synthesis/network/reachability.hpp"
#include "hemiola/synthesis/network/relays.hpp"
#include "hemiola/synthesis/port_bound.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {
namespace {

/// Sends of a flood that all trials of a search may decide together where the caller does not say how many trials: a tenth of
/// a second to one, by how many ports a send may choose from.
constexpr std::int64_t kCheapSends = 1 << 20;
/// So many of them a send of a delivery costs, which has a way to find.
constexpr std::int64_t kDeliveryCost = 8;
constexpr std::int64_t kMostCheapTrials = 64;

/// One phase's search after the other, sharing the progress display and the wish to stop.
class Synthesizer {
 public:
  Synthesizer(const Topology& topology, const Collective& collective, const Options& options)
      : collective_(collective),
        options_(options),
        channels_(topology, chunk_bytes(collective, options.buffer_bytes), options.latency),
        phases_(phases_of(collective)) {}

  Synthesis operator()() {
    if (phases_.size() == 1 && phases_[0].to_all && !phases_[0].reducing && !options_.timed)
      if (std::optional<Synthesis> straight = search_ticks(phases_[0])) return std::move(*straight);
    const Channels reversed = channels_.reversed();
    const bool alike = are_alike(reversed, channels_);
    Sends all;
    const Phase* done = nullptr;
    for (const Phase& phase : phases_) {
      // The two halves of an all-reduce are the same search where the network is the same both ways.
      if (!done || !alike || done->holders != phase.holders || done->wanted != phase.wanted)
        search(phase, phase.turned ? reversed : channels_);
      done = &phase;
      duration_ += best_.duration;
      bound_ += best_bound_;
      Sends sends = phase.turned ? turned(phase) : std::move(best_.sends);
      all = all.empty() ? std::move(sends) : concatenated(std::move(all), sends);
    }
    return {assemble(collective_, channels_, std::move(all)), duration_, bound_, finished_,
            state_.is_stopped()};
  }

 private:
  /// Leaves the best sends in best_.
  void search(const Phase& phase, const Channels& channels) {
    check_reachable(channels, phase);
    if (phase.to_all) {
      const Flood flood(channels, phase.holders);
      const FloodSearch search_flood(flood);
      run(flood.sends_needed(), trials_for(flood.sends_needed()), port_bound(flood), search_flood);
    } else {
      const Delivery delivery{channels, phase.holders, phase.wanted};
      const std::int64_t sends = sends_at_least(phase);
      run(sends, trials_for(kDeliveryCost * sends), port_bound(delivery),
          [&](std::uint64_t seed, int, SearchState* state) {
            return search_delivery(delivery, seed, state);
          });
    }
  }

  /// One search for an all-gather over links alike, without timing it; nothing where that will not do.
  std::optional<Synthesis> search_ticks(const Phase& phase) {
    check_reachable(channels_, phase);
    const Flood flood(channels_, phase.holders);
    if (tick_lag(flood) != 0 || trials_for(flood.sends_needed()) != 1) return std::nullopt;
    if (std::optional<Sends> sends = flood_by_translates(flood, 0))
      return Synthesis{assemble(collective_, channels_, std::move(*sends)), 0, port_bound(flood), 1, false};
    Schedule::Columns columns;
    run(flood.sends_needed(), 1, port_bound(flood), [&](std::uint64_t seed, int, SearchState* state) {
      Candidate candidate;
      candidate.complete = match_into_columns(flood, seed, state, &columns);
      return candidate;
    });
    return Synthesis{Schedule::from_columns(collective_, std::move(columns)), 0, best_bound_, finished_,
                     state_.is_stopped()};
  }

  template <typename Search>
  void run(std::int64_t sends, int trials, Picoseconds bound, const Search& search) {
    TrialOptions trial_options;
    trial_options.trials = trials;
    trial_options.threads = options_.threads;
    trial_options.operations = options_.operations;
    trial_options.bound = bound;
    if (options_.report)
      trial_options.report = [&](const SearchState& state) {
        const auto phases = static_cast<std::int64_t>(phases_.size());
        return options_.report({state.done(), sends * trial_options.trials * phases});
      };
    const std::uint64_t base = Random(options_.seed).next();
    TrialResult result = run_trials(trial_options, &state_, [&](int trial, SearchState* state) {
      return search(Random(base + static_cast<std::uint64_t>(trial)).next(), trial, state);
    });
    if (result.best_trial < 0)
      throw ArgumentError(
          "synthesize: stopped before the first search was complete, so there is nothing to return");
    best_ = std::move(result.best);
    best_bound_ = bound;
    finished_ += result.finished;
  }

  int trials_for(std::int64_t sends) const {
    if (options_.trials > 0) return options_.trials;
    return static_cast<int>(
        std::clamp<std::int64_t>(kCheapSends / std::max<std::int64_t>(sends, 1), 1, kMostCheapTrials));
  }

  static std::int64_t sends_at_least(const Phase& phase) {
    std::int64_t sends = 0;
    for (const auto& ranks : phase.wanted) sends += static_cast<std::int64_t>(ranks.size());
    return sends;
  }

  Sends turned(const Phase& phase) const {
    Sends turned = turned_round(best_.sends, channels_);
    if (!phase.reducing)
      for (Send& send : turned) send.reduce = false;
    if (collective_.kind() == CollectiveKind::custom) copy_into_relays(channels_, collective_, &turned);
    return turned;
  }

  const Collective& collective_;
  const Options& options_;
  Channels channels_;
  std::vector<Phase> phases_;
  SearchState state_;
  Candidate best_;
  Picoseconds best_bound_ = 0;
  Picoseconds duration_ = 0, bound_ = 0;
  int finished_ = 0;
};

}  // namespace

Synthesis synthesize(const Topology& topology, const Collective& collective, const Options& options) {
  check_options(topology, collective, options);
  return Synthesizer(topology, collective, options)();
}

}  // namespace hemiola::synthesis
