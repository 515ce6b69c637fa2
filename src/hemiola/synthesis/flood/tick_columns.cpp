// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/tick_columns.hpp"

#include <algorithm>
#include <vector>

#include "hemiola/synthesis/flood/tick_matcher.hpp"

namespace hemiola::synthesis {
namespace {

constexpr std::uint32_t kUnused = ~0u;

void append_pass(const TickMatcher& matcher, std::uint32_t channel_count, Schedule::Columns* columns) {
  const TickPicks& picks = matcher.picks();
  for (int tick = 0; tick < picks.tick_count; ++tick) {
    for (std::uint32_t c = 0; c < channel_count; ++c) {
      const std::uint32_t chunk = matcher.pick(picks, tick, c);
      if (chunk == TickMatcher::kIdle) continue;
      columns->link.push_back(c);
      columns->chunk.push_back(chunk);
    }
    columns->step_offset.push_back(static_cast<std::int64_t>(columns->link.size()));
  }
}

/// Makes pairs of the channels that carry anything, and numbers of pairs of the channels in `link`.
void name_pairs(const Channels& channels, Schedule::Columns* columns) {
  std::vector<std::uint32_t> number(channels.count(), kUnused);
  for (const std::uint32_t c : columns->link) number[c] = c;
  for (std::uint32_t c = 0; c < channels.count(); ++c) {
    if (number[c] == kUnused) continue;
    number[c] = static_cast<std::uint32_t>(columns->pairs.size());
    columns->pairs.push_back({channels[c].src, channels[c].dst});
  }
  if (columns->pairs.size() == channels.count()) return;
  for (std::uint32_t& link : columns->link) link = number[link];
}

}  // namespace

bool match_into_columns(const Flood& flood, std::uint64_t seed, SearchState* state,
                        Schedule::Columns* columns) {
  const auto sends = static_cast<std::size_t>(flood.sends_needed());
  columns->link.reserve(sends);
  columns->chunk.reserve(sends);
  columns->step_offset.push_back(0);
  TickMatcher matcher(flood, seed, 0);
  while (!matcher.is_done()) {
    const std::int64_t delivered = matcher.advance();
    append_pass(matcher, flood.channels.count(), columns);
    if (!state->advance(delivered)) return false;
  }
  // Behind the last delivery the pass had ticks left.
  std::vector<std::int64_t>& offset = columns->step_offset;
  offset.erase(std::find(offset.begin(), offset.end(), offset.back()) + 1, offset.end());
  columns->reduce_words.assign((sends + 63) / 64, 0);
  name_pairs(flood.channels, columns);
  return true;
}

}  // namespace hemiola::synthesis
