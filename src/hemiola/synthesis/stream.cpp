// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/stream.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/longest.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/schedule/file/schedule_file.hpp"
#include "hemiola/synthesis/flood/flood_search.hpp"
#include "hemiola/synthesis/flood/tick_matcher.hpp"
#include "hemiola/synthesis/flood/translates.hpp"
#include "hemiola/synthesis/network/phases.hpp"
#include "hemiola/synthesis/network/reachability.hpp"
#include "hemiola/synthesis/synthesize.hpp"

namespace hemiola::synthesis {
namespace {

constexpr auto kStreamReport = std::chrono::milliseconds(50);

/// Writes the loads of all channels tick by tick, each pair of ranks numbered as its channel.
class TickWriter {
 public:
  TickWriter(const Collective& collective, const Channels& channels, ByteSink* sink)
      : channels_(channels), writer_(collective, {}, pairs_of(channels), sink) {}

  /// Ticks in ascending order; `chunk_on(channel)` may be kIdle.
  template <typename ChunkOn>
  void write(int tick, const ChunkOn& chunk_on) {
    pair_.clear();
    chunk_.clear();
    for (std::uint32_t c = 0; c < channels_.count(); ++c) {
      const std::uint32_t chunk = chunk_on(c);
      if (chunk == kIdle) continue;
      pair_.push_back(c);
      chunk_.push_back(chunk);
    }
    writer_.add_copies(Step{tick}, pair_, chunk_);
    if (chunk_.empty()) return;
    result_.transfer_count += static_cast<std::int64_t>(chunk_.size());
    result_.step_count = tick + 1;
  }

  std::int64_t written() const { return result_.transfer_count; }

  Streamed finish() {
    writer_.finish();
    const auto all = static_cast<__int128>(result_.step_count) * channels_.hops(0)[0].delay;
    result_.duration_at_most = static_cast<Picoseconds>(std::min<__int128>(all, kLongest));
    result_.streamed = true;
    return result_;
  }

  static constexpr std::uint32_t kIdle = ~0u;

 private:
  static std::vector<RankPair> pairs_of(const Channels& channels) {
    std::vector<RankPair> pairs;
    for (std::uint32_t c = 0; c < channels.count(); ++c) pairs.push_back({channels[c].src, channels[c].dst});
    return pairs;
  }

  const Channels& channels_;
  ScheduleWriter writer_;
  std::vector<std::uint32_t> pair_, chunk_;  ///< of one tick
  Streamed result_;
};
static_assert(TickWriter::kIdle == TickMatcher::kIdle && TickWriter::kIdle == Translates::kIdle);

class TickStream {
 public:
  TickStream(const Collective& collective, const Flood& flood, const Options& options, ByteSink* sink)
      : flood_(flood), options_(options), writer_(collective, flood.channels, sink) {}

  Streamed of_translates(Translates translates) {
    std::vector<std::uint32_t> picks;
    for (int tick = 0; tick < translates.tick_count(); ++tick) {
      translates.find_picks(tick, &picks);
      writer_.write(tick, [&](std::uint32_t channel) { return picks[channel]; });
      report(writer_.written());
    }
    return writer_.finish();
  }

  /// While a pass is written, the next one is decided.
  Streamed of_matches(int lag) {
    TickMatcher matcher(flood_, Random(options_.seed).next(), lag);
    TickPicks pass;  // the last one that was decided
    const auto write_pass = [&] {
      for (int tick = 0; tick < pass.tick_count; ++tick)
        writer_.write(pass.first_tick + tick,
                      [&](std::uint32_t channel) { return matcher.pick(pass, tick, channel); });
    };
    const auto policy = options_.threads > 1 ? std::launch::async : std::launch::deferred;
    std::int64_t decided = 0;
    std::future<void> writing;
    while (!matcher.is_done()) {
      decided += matcher.advance(options_.threads);
      if (writing.valid()) writing.get();
      matcher.swap_picks(&pass);
      writing = std::async(policy, write_pass);
      report(decided);
    }
    writing.get();
    return writer_.finish();
  }

 private:
  void report(std::int64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (!options_.report || now < next_report_) return;
    next_report_ = now + kStreamReport;
    if (!options_.report({done, flood_.sends_needed()}))
      throw ArgumentError("synthesize: stopped before the schedule was complete, so the file is of no use");
  }

  const Flood& flood_;
  const Options& options_;
  TickWriter writer_;
  std::chrono::steady_clock::time_point next_report_ = std::chrono::steady_clock::now() + kStreamReport;
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
    if (const std::optional<int> lag = tick_lag(flood)) {
      TickStream stream(collective, flood, options, sink);
      if (std::optional<Translates> translates = Translates::of(flood, *lag))
        return stream.of_translates(std::move(*translates));
      return stream.of_matches(*lag);
    }
  }
  const Synthesis found = synthesize(topology, collective, options);
  write_binary(found.schedule, sink);
  return {found.schedule.transfer_count(), found.schedule.step_count(), found.duration, false};
}

}  // namespace hemiola::synthesis
