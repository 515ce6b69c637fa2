// SPDX-License-Identifier: Apache-2.0
// Link-chunk matching on the time-expanded network of a uniform topology [TACOS, §IV-D]: time is a number of ticks, and
// in every tick each channel takes one chunk that its source holds and its destination lacks.
//
// Which one: the chunk that the source has held longest of those that the destination lacks. A channel therefore walks
// its source's arrival log, never back, and tests one bit per entry, 64 entries at a time: it remembers which of them
// the destination lacked, and tests those again when it takes them. Within a tick the
// channels into one rank are matched as a bipartite graph (channels against chunks) with augmenting paths, so that no
// channel idles because another took the only chunk that it could have carried.
//
// A rank's tick depends only on its own past and on its neighbours' chunks in the tick before. So several
// ticks are decided in one pass over the ranks, block by block, later ticks some blocks behind earlier ones:
// the ranks at work stay in the cache, and blocks of one wave can be worked on at once. The result is that of
// one tick after another.
//
//    wave   0    1    2    3    4    5            block of each tick
//    tick 0 b0   b1   b2   b3   b4   b5
//    tick 1           b0   b1   b2   b3
//    tick 2                     b0   b1
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "hemiola/base/huge_pages.hpp"
#include "hemiola/synthesis/flood/chunk_arrivals.hpp"
#include "hemiola/synthesis/flood/chunk_sets.hpp"
#include "hemiola/synthesis/flood/flood.hpp"
#include "hemiola/synthesis/flood/rank_blocks.hpp"

namespace hemiola::synthesis {

/// The loads of all channels in consecutive ticks.
struct TickPicks {
  int first_tick = 0;
  int tick_count = 0;
  LargeVector<std::uint32_t> tables;  ///< one per tick, channels in order of destination (Channels::first_in)
};

class TickMatcher {
 public:
  static constexpr std::uint32_t kIdle = ~0u;

  /// The flood must be reachable. A chunk that arrives in tick t may leave in tick t + 1 + `lag`.
  TickMatcher(const Flood& flood, std::uint64_t seed, int lag);

  bool is_done() const { return missing_ == 0; }
  /// Decides the next ticks; in those after the last delivery all channels are idle. Returns the number of chunks
  /// delivered.
  std::int64_t advance(int threads = 1);

  /// The last pass.
  const TickPicks& picks() const { return picks_; }
  /// Hands the last pass over, so that it can be read while the next one is decided; `spare` is the pass
  /// handed over before, or empty.
  void swap_picks(TickPicks* spare) { std::swap(picks_, *spare); }
  /// A channel's chunk in a tick of the pass (0 … tick_count-1); kIdle for nothing.
  std::uint32_t pick(const TickPicks& picks, int tick, std::uint32_t channel) const {
    return picks.tables[row(tick) + place_of_[channel]];
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

  std::size_t row(int tick) const { return static_cast<std::size_t>(tick) * channels_.count(); }
  int wave_count() const { return blocks_.count() + 2 * (kRounds - 1); }
  static int block_in(int wave, int round) { return wave - 2 * round; }
  int ticks_left() const;
  static int span_for(int ticks, int most);
  /// The end of the chunks that a rank may send on in a tick, as a position in its log.
  std::uint32_t& visible_end(Rank rank, int tick) {
    return visible_end_[static_cast<std::size_t>(rank) * ring_ +
                        (static_cast<std::size_t>(tick) & (ring_ - 1))];
  }
  void forget_logs();

  const Channels& channels_;
  RankBlocks blocks_;
  int lag_;
  std::uint64_t seed_;
  int first_tick_ = 0;  ///< of the next pass
  int span_ = 0;        ///< ticks of each of the last pass's rounds
  int aided_from_ = 0;  ///< ticks that a rank must still need for its idle links to be helped
  int most_span_ = 1;   ///< that this flood can come to
  std::int64_t missing_ = 0;
  ChunkSets have_;                   ///< per rank, chunks that are there or on their way
  std::vector<std::int32_t> lacks_;  ///< per rank, the number of the others
  std::vector<ChunkArrivals> log_;   ///< per rank, its chunks, in the order of arrival
  std::size_t ring_ = 1;             ///< ticks that visible_end_ remembers per rank, a power of two
  std::vector<std::uint32_t> visible_end_;
  // Tables with one entry per channel, in order of destination (Channels::first_in).
  std::vector<Feed> feeds_;
  TickPicks picks_;
  std::vector<std::uint32_t> place_of_;  ///< channel → its entry in those tables
};

}  // namespace hemiola::synthesis
