#include "hemiola/synthesis/stream.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/schedule/file/schedule_file.hpp"
#include "hemiola/synthesis/flood/flood_search.hpp"
#include "hemiola/synthesis/flood/tick_matcher.hpp"
#include "hemiola/synthesis/network/longest.hpp"
#include "hemiola/synthesis/network/phases.hpp"
#include "hemiola/synthesis/network/reachability.hpp"
#include "hemiola/synthesis/synthesize.hpp"

namespace hemiola::synthesis {
namespace {

constexpr auto kReportInterval = std::chrono::milliseconds(50);

class TickStream {
 public:
  TickStream(const Collective& collective, const Flood& flood, const Options& options, int lag,
             ByteSink* sink)
      : flood_(flood),
        options_(options),
        pair_count_(flood.channels.count()),
        writer_(collective, {}, pairs_of(flood.channels), sink),
        matcher_(flood, Random(options.seed).next(), lag) {}

  /// While a pass is written, the next one is decided.
  Streamed operator()() {
    const auto policy = options_.threads > 1 ? std::launch::async : std::launch::deferred;
    Streamed result;
    result.streamed = true;
    std::future<void> writing;
    while (!matcher_.is_done()) {
      result.transfer_count += matcher_.advance(options_.threads);
      if (writing.valid()) writing.get();
      matcher_.swap_picks(&pass_);
      writing = std::async(policy, [this] { write_pass(); });
      report(result.transfer_count);
    }
    writing.get();
    writer_.finish();
    result.step_count = step_count_;
    const auto all = static_cast<__int128>(result.step_count) * flood_.channels.hops(0)[0].delay;
    result.duration_at_most = static_cast<Picoseconds>(std::min<__int128>(all, kLongest));
    return result;
  }

 private:
  static std::vector<RankPair> pairs_of(const Channels& channels) {
    std::vector<RankPair> pairs;
    for (std::uint32_t c = 0; c < channels.count(); ++c) pairs.push_back({channels[c].src, channels[c].dst});
    return pairs;
  }

  void write_pass() {
    for (int tick = 0; tick < pass_.tick_count; ++tick) {
      pair_.clear();
      chunk_.clear();
      for (std::uint32_t c = 0; c < pair_count_; ++c) {
        const std::uint32_t chunk = matcher_.pick(pass_, tick, c);
        if (chunk == TickMatcher::kIdle) continue;
        pair_.push_back(c);
        chunk_.push_back(chunk);
      }
      writer_.add_copies(Step{pass_.first_tick + tick}, pair_, chunk_);
      if (!chunk_.empty()) step_count_ = pass_.first_tick + tick + 1;
    }
  }

  void report(std::int64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (!options_.report || now < next_report_) return;
    next_report_ = now + kReportInterval;
    if (!options_.report({done, flood_.sends_needed()}))
      throw ArgumentError("synthesize: stopped before the schedule was complete, so the file is of no use");
  }

  const Flood& flood_;
  const Options& options_;
  std::uint32_t pair_count_;  ///< pair c is channel c's
  ScheduleWriter writer_;
  TickMatcher matcher_;
  TickPicks pass_;                           ///< the last one that was decided
  std::vector<std::uint32_t> pair_, chunk_;  ///< of one of its ticks
  int step_count_ = 0;
  std::chrono::steady_clock::time_point next_report_ = std::chrono::steady_clock::now() + kReportInterval;
};

}  // namespace

Streamed synthesize_into(const Topology& topology, const Collective& collective, const Options& options,
                         ByteSink* sink) {
  check_options(topology, collective, options);
  const std::vector<Phase> phases = phases_of(collective);
  if (phases.size() == 1 && phases[0].to_all && !phases[0].reducing) {
    const Channels channels(topology, chunk_bytes(collective, options.buffer_bytes), options.latency);
    check_reachable(channels, phases[0]);
    const Flood flood(channels, phases[0].holders);
    if (const std::optional<int> lag = tick_lag(flood))
      return TickStream(collective, flood, options, *lag, sink)();
  }
  const Synthesis found = synthesize(topology, collective, options);
  write_binary(found.schedule, sink);
  return {found.schedule.transfer_count(), found.schedule.step_count(), found.duration, false};
}

}  // namespace hemiola::synthesis
