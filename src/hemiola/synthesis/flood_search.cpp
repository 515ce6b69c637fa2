#include "hemiola/synthesis/flood_search.hpp"

#include "hemiola/synthesis/replay.hpp"
#include "hemiola/synthesis/slot_matcher.hpp"

namespace hemiola::synthesis {
namespace {

/// Slots that a chunk's latency behind its serialization takes, to the nearest slot.
int lag_of(const Channel& channel) {
  const Picoseconds extra = channel.delay - channel.busy;
  return channel.busy == 0 ? 0 : static_cast<int>((extra + channel.busy / 2) / channel.busy);
}

void add_slot(const SlotMatcher& matcher, int slot, Sends* sends) {
  const std::span<const std::uint32_t> picks = matcher.picks();
  for (std::uint32_t c = 0; c < picks.size(); ++c)
    if (picks[c] != SlotMatcher::kIdle) sends->add(slot, c, picks[c]);
}

Candidate search_in_slots(const Flood& flood, std::uint64_t seed, SearchState* state) {
  Candidate candidate;
  candidate.sends.reserve(static_cast<std::size_t>(flood.sends_needed()));
  SlotMatcher matcher(flood, seed, lag_of(flood.channels[0]));
  SlotMatcher::Matching matching(&matcher);
  for (int slot = 0; !matcher.is_done(); ++slot) {
    for (Rank rank : indices<Rank>(matcher.rank_count())) matching.match(rank);
    std::int64_t delivered = 0;
    for (Rank rank : indices<Rank>(matcher.rank_count())) delivered += matcher.commit(rank);
    add_slot(matcher, slot, &candidate.sends);
    matcher.close_slot(delivered);
    if (!state->advance(delivered)) return candidate;
  }
  candidate.duration = replay(flood.channels, candidate.sends, flood.chunk_count);
  candidate.complete = true;
  return candidate;
}

}  // namespace

Candidate search_flood(const Flood& flood, std::uint64_t seed, SearchState* state) {
  return search_in_slots(flood, seed, state);
}

}  // namespace hemiola::synthesis
