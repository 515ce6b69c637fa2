// Link-chunk matching on the time-expanded network of a uniform topology [TACOS, §IV-D]: time is a number of slots, and
// in every slot each channel takes one chunk that its source holds and its destination lacks.
//
// Which one: the chunk that the source has held longest of those that the destination lacks. A channel therefore walks
// its source's arrival log, never back, and tests one bit per entry, 64 entries at a time: it remembers which of them
// the destination lacked, and tests those again when it takes them. Within a slot the
// channels into one rank are matched as a bipartite graph (channels against chunks) with augmenting paths, so that no
// channel idles because another took the only chunk that it could have carried.
//
// A rank's slot depends only on its own past and on what its neighbours held in the slot before. So several slots are
// decided in one pass over the ranks, block by block, later slots some blocks behind earlier ones: the ranks at work
// stay in the cache, and blocks of one wave can be worked on at once. The result is that of one slot after another.
//
//    wave   0    1    2    3    4    5            block of each slot
//    slot 0 b0   b1   b2   b3   b4   b5
//    slot 1           b0   b1   b2   b3
//    slot 2                     b0   b1
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "hemiola/base/huge_pages.hpp"
#include "hemiola/synthesis/arrival_log.hpp"
#include "hemiola/synthesis/chunk_sets.hpp"
#include "hemiola/synthesis/flood.hpp"
#include "hemiola/synthesis/rank_blocks.hpp"

namespace hemiola::synthesis {

/// What all channels carry in consecutive slots.
struct SlotPicks {
  int first_slot = 0;
  int slot_count = 0;
  LargeVector<std::uint32_t> tables;  ///< one per slot, channels in order of destination (Channels::first_in)
};

class SlotMatcher {
 public:
  static constexpr std::uint32_t kIdle = ~0u;

  /// The flood must be reachable. A chunk that arrives in slot t may leave in slot t + 1 + `lag`.
  SlotMatcher(const Flood& flood, std::uint64_t seed, int lag);

  bool is_done() const { return missing_ == 0; }
  /// Decides the next slots; in those after the last delivery all channels are idle. Returns the number of chunks
  /// delivered.
  std::int64_t advance(int threads = 1);

  /// The last pass.
  const SlotPicks& picks() const { return picks_; }
  /// Hands the last pass over, so that it can be read while the next one is decided; `spare` is what was handed over
  /// before, or empty.
  void swap_picks(SlotPicks* spare) { std::swap(picks_, *spare); }
  /// What a channel carries in a slot of the pass (0 … slot_count-1); kIdle for nothing.
  std::uint32_t pick(const SlotPicks& picks, int slot, std::uint32_t channel) const {
    return picks.tables[row(slot) + place_of_[channel]];
  }

 private:
  class Matching;

  static constexpr int kRounds = 4;  ///< in a pass
  static constexpr int kMostSpan = 32;

  /// A channel's place in its source's log.
  struct Feed {
    static constexpr std::uint32_t kPiece = 64;

    std::uint64_t lacked;  ///< bit i: the destination lacked entry looked_at - 64 + i when that was looked at
    std::uint32_t looked_at;  ///< entries before this position
    Rank source;

    /// The first entry that may still be taken.
    std::uint32_t first() const {
      return lacked == 0 ? looked_at
                         : looked_at - kPiece + static_cast<std::uint32_t>(std::countr_zero(lacked));
    }
  };

  std::size_t row(int slot) const { return static_cast<std::size_t>(slot) * channels_.count(); }
  int wave_count() const { return blocks_.count() + 2 * (kRounds - 1); }
  static int block_in(int wave, int round) { return wave - 2 * round; }
  int slots_left() const;
  static int span_for(int slots, int most);
  /// The end of what a rank may send on in a slot, as a position in its log.
  std::uint32_t& visible_end(Rank rank, int slot) {
    return visible_end_[static_cast<std::size_t>(rank) * ring_ +
                        (static_cast<std::size_t>(slot) & (ring_ - 1))];
  }
  void forget_logs();

  const Channels& channels_;
  RankBlocks blocks_;
  int lag_;
  std::uint64_t seed_;
  int first_slot_ = 0;  ///< of the next pass
  int span_ = 0;        ///< slots of each of the last pass's rounds
  int aided_from_ = 0;  ///< slots that a rank must still need for its idle links to be helped
  int most_span_ = 1;   ///< that this flood can come to
  std::int64_t missing_ = 0;
  ChunkSets have_;                   ///< per rank, chunks that are there or on their way
  std::vector<std::int32_t> lacks_;  ///< per rank, the number of the others
  std::vector<ArrivalLog> log_;      ///< per rank, what it has, in the order of arrival
  std::size_t ring_ = 1;             ///< slots that visible_end_ remembers per rank, a power of two
  std::vector<std::uint32_t> visible_end_;
  // Tables with one entry per channel, in order of destination (Channels::first_in).
  std::vector<Feed> feeds_;
  SlotPicks picks_;
  std::vector<std::uint32_t> place_of_;  ///< channel → its entry in those tables
};

}  // namespace hemiola::synthesis
