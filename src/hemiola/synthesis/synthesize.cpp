#include "hemiola/synthesis/synthesize.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/synthesis/assemble.hpp"
#include "hemiola/synthesis/flood.hpp"
#include "hemiola/synthesis/flood_search.hpp"
#include "hemiola/synthesis/rate_bound.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {
namespace {

constexpr int kMaxTrials = 1 << 20;
constexpr int kMaxThreads = 1024;
/// Sends that all trials of a search may decide together where the caller does not say how many trials: about a tenth
/// of a second.
constexpr std::int64_t kCheapSends = 1 << 20;
constexpr std::int64_t kMostCheapTrials = 64;

void check(const Topology& topology, const Collective& collective, const Options& options) {
  if (topology.rank_count() < 2)
    throw ArgumentError("synthesize: expected a topology of at least 2 ranks, found 1");
  if (collective.rank_count() != topology.rank_count())
    throw ArgumentError("synthesize: expected a collective of the topology's " +
                        std::to_string(topology.rank_count()) + " ranks, found " +
                        std::to_string(collective.rank_count()));
  if (options.buffer_bytes < 0)
    throw ArgumentError("synthesize: expected nbytes >= 0, found " + std::to_string(options.buffer_bytes));
  if (options.trials < 0 || options.trials > kMaxTrials)
    throw ArgumentError("synthesize: expected 1 … " + std::to_string(kMaxTrials) + " trials, found " +
                        std::to_string(options.trials));
  if (options.threads < 1 || options.threads > kMaxThreads)
    throw ArgumentError("synthesize: expected 1 … " + std::to_string(kMaxThreads) + " threads, found " +
                        std::to_string(options.threads));
}

/// Bytes of the largest chunk.
std::int64_t chunk_bytes(const Collective& collective, std::int64_t buffer_bytes) {
  const std::int64_t chunks = collective.chunk_count();
  return (exchange_size(collective, buffer_bytes) + chunks - 1) / chunks;
}

/// Every chunk begins at its owner.
std::vector<std::vector<Chunk>> chunks_by_owner(const Collective& collective) {
  std::vector<std::vector<Chunk>> chunks(static_cast<std::size_t>(collective.rank_count()));
  for (Chunk chunk : indices<Chunk>(collective.chunk_count()))
    chunks[static_cast<std::size_t>(collective.owner_of(chunk))].push_back(chunk);
  return chunks;
}

/// One search after another, sharing the progress display and the wish to stop.
class Synthesizer {
 public:
  Synthesizer(const Topology& topology, const Collective& collective, const Options& options)
      : collective_(collective),
        options_(options),
        channels_(topology, chunk_bytes(collective, options.buffer_bytes), options.latency) {}

  Synthesis operator()() {
    switch (collective_.kind()) {
      case CollectiveKind::all_gather:
      case CollectiveKind::broadcast:
        return finish(spread(channels_), 0);
      case CollectiveKind::reduce_scatter:
      case CollectiveKind::reduce: {
        const Sends sends = turned_round(spread(channels_.reversed()), channels_);
        return finish(sends, sends.size());
      }
      case CollectiveKind::all_reduce:
        return reduce_then_spread();
      default:
        throw ArgumentError("synthesize: expected another collective, found " +
                            std::string(name_of(collective_.kind())));
    }
  }

 private:
  Synthesis reduce_then_spread() {
    const Channels reversed = channels_.reversed();
    phases_ = are_alike(reversed, channels_) ? 1 : 2;
    const Sends there = spread(channels_);
    const Picoseconds gather_time = duration_, gather_bound = bound_;
    const Sends back = turned_round(phases_ == 1 ? there : spread(reversed), channels_);
    if (phases_ == 1) {
      duration_ = 2 * gather_time;
      bound_ = 2 * gather_bound;
    }
    return finish(concatenated(back, there), back.size());
  }

  /// The best search for sends that bring every chunk from its owner to all ranks.
  Sends spread(const Channels& channels) {
    const Flood flood{channels, collective_.chunk_count(), chunks_by_owner(collective_)};
    check_reachable(flood);
    const std::int64_t sends = flood.sends_needed();
    TrialOptions trial_options;
    trial_options.trials = options_.trials > 0 ? options_.trials : default_trials(sends);
    trial_options.threads = options_.threads;
    trial_options.bound = in_rate_bound(flood);
    if (options_.report)
      trial_options.report = [&](const SearchState& state) {
        return options_.report({state.done(), sends * trial_options.trials * phases_});
      };
    Random seeds(options_.seed);
    const std::uint64_t base = seeds.next();
    const FloodSearch search(flood);
    TrialResult result = run_trials(trial_options, &state_, [&](int trial, SearchState* state) {
      return search(Random(base + static_cast<std::uint64_t>(trial)).next(), trial, state);
    });
    if (result.best_trial < 0)
      throw ArgumentError(
          "synthesize: stopped before the first search was complete, so there is nothing to return");
    duration_ += result.best.duration;
    bound_ += trial_options.bound;
    finished_ += result.finished;
    return std::move(result.best.sends);
  }

  static int default_trials(std::int64_t sends) {
    return static_cast<int>(
        std::clamp<std::int64_t>(kCheapSends / std::max<std::int64_t>(sends, 1), 1, kMostCheapTrials));
  }

  Synthesis finish(const Sends& sends, std::size_t reducing) {
    return {assemble(collective_, channels_, sends, reducing), duration_, bound_, finished_,
            state_.is_stopped()};
  }

  const Collective& collective_;
  const Options& options_;
  Channels channels_;
  SearchState state_;
  int phases_ = 1;
  Picoseconds duration_ = 0, bound_ = 0;
  int finished_ = 0;
};

}  // namespace

Synthesis synthesize(const Topology& topology, const Collective& collective, const Options& options) {
  check(topology, collective, options);
  return Synthesizer(topology, collective, options)();
}

}  // namespace hemiola::synthesis
