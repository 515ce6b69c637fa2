// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/flood_search.hpp"

#include <algorithm>

#include "hemiola/base/forecast.hpp"
#include "hemiola/synthesis/flood/event_matcher.hpp"
#include "hemiola/synthesis/flood/tick_matcher.hpp"
#include "hemiola/synthesis/flood/translates.hpp"
#include "hemiola/synthesis/network/replay.hpp"

namespace hemiola::synthesis {
namespace {

/// Ticks cost memory and time for every tick that a chunk is on its way.
constexpr Picoseconds kMostLag = 32;

/// Ticks that a chunk's latency behind its serialization takes, to the nearest tick.
Picoseconds lag_of(const Hop& hop) {
  return (hop.delay - hop.busy + hop.busy / 2) / hop.busy;
}

bool has_one_source(const Flood& flood) {
  const auto holds = [](const std::vector<Chunk>& chunks) { return !chunks.empty(); };
  return std::count_if(flood.start.begin(), flood.start.end(), holds) == 1;
}

}  // namespace

std::optional<int> tick_lag(const Flood& flood) {
  const Hop& hop = flood.channels.hops(0)[0];
  // First come first served would send every chunk of a single source to all its neighbours at once.
  if (has_one_source(flood) || !flood.channels.is_uniform() || hop.busy == 0) return std::nullopt;
  const Picoseconds lag = lag_of(hop);
  return lag <= kMostLag ? std::optional<int>(static_cast<int>(lag)) : std::nullopt;
}

FloodSearch::FloodSearch(const Flood& flood) : flood_(flood) {
  if (const std::optional<int> lag = tick_lag(flood))
    lag_ = *lag;
  else
    classes_.emplace(flood.channels);
  if (!classes_) translates_ = flood_by_translates(flood, lag_);
  if (translates_ && lag_ > 0) number_steps(flood.channels, flood.chunk_count, &*translates_);
}

Candidate FloodSearch::operator()(std::uint64_t seed, int trial, SearchState* state) const {
  Candidate candidate;
  if (translates_ && trial == 0) {
    candidate.sends = *translates_;
    candidate.complete = state->advance(flood_.sends_needed());
    candidate.duration = replay(flood_.channels, candidate.sends, flood_.chunk_count);
    return candidate;
  }
  candidate.sends.reserve(static_cast<std::size_t>(flood_.sends_needed()));
  candidate.complete = classes_ ? match_event_by_event(seed, trial, state, &candidate.sends)
                                : match_in_ticks(seed, state, &candidate.sends);
  if (candidate.complete) candidate.duration = replay(flood_.channels, candidate.sends, flood_.chunk_count);
  return candidate;
}

bool FloodSearch::match_in_ticks(std::uint64_t seed, SearchState* state, Sends* sends) const {
  const std::uint32_t channel_count = flood_.channels.count();
  TickMatcher matcher(flood_, seed, lag_);
  const Forecast forecast;
  while (!matcher.is_done()) {
    const std::int64_t delivered = matcher.advance();
    const TickPicks& picks = matcher.picks();
    for (int tick = 0; tick < picks.tick_count; ++tick)
      for (std::uint32_t c = 0; c < channel_count; ++c)
        if (const std::uint32_t chunk = matcher.pick(picks, tick, c); chunk != TickMatcher::kIdle)
          sends->push_back({picks.first_tick + tick, c, chunk});
    if (!state->advance(delivered)) return false;
    forecast.at(static_cast<double>(sends->size()) / static_cast<double>(flood_.sends_needed()));
  }
  if (lag_ > 0) number_steps(flood_.channels, flood_.chunk_count, sends);
  return true;
}

bool FloodSearch::match_event_by_event(std::uint64_t seed, int trial, SearchState* state,
                                       Sends* sends) const {
  const PeerOrder order = trial % 2 == 0 ? PeerOrder::nearest : PeerOrder::rotating;
  if (!EventMatcher(flood_, *classes_, seed, order).run(state, sends)) return false;
  number_steps(flood_.channels, flood_.chunk_count, sends);
  return true;
}

}  // namespace hemiola::synthesis
