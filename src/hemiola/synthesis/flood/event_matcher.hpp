// SPDX-License-Identifier: Apache-2.0
// Link-chunk matching where channels differ in speed or share links [TACOS, §IV-F]: whenever a link becomes free or a
// chunk arrives, the channels that this may have enabled are matched, faster ones first.
//
// Which chunk: one that no rank of its destination's cluster (SpeedClasses) holds or is about to get, of those the one
// that the fewest ranks around that cluster have. Where there is none, the rarest that the destination lacks, unless a
// repetition costs more than it brings (may_repeat) or a faster channel will bring it sooner. So each chunk enters a
// cluster once as long as that is possible, and slow channels still help with the rest while that pays.
//
// Channels of a port that leads to many ranks are looked at one after the other, as long as the port is free: sorting all
// that an event enables would cost the square of the ranks for each.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/synthesis/flood/chunk_sets.hpp"
#include "hemiola/synthesis/flood/flood.hpp"
#include "hemiola/synthesis/flood/rarity.hpp"
#include "hemiola/synthesis/flood/speed_classes.hpp"
#include "hemiola/synthesis/flood/turns.hpp"
#include "hemiola/synthesis/flood/wide_ports.hpp"
#include "hemiola/synthesis/network/sends.hpp"
#include "hemiola/synthesis/trials.hpp"

namespace hemiola::synthesis {

/// Whom a rank prefers behind a port that leads to several.
enum class PeerOrder : std::uint8_t {
  nearest,   ///< always the next rank, as on a ring: few partners, ports in perfect step
  rotating,  ///< one after another: short ways, many partners
};

class EventMatcher {
 public:
  /// The flood must be reachable.
  EventMatcher(const Flood& flood, const SpeedClasses& classes, std::uint64_t seed, PeerOrder order);

  /// Runs to the end and appends to `sends`, by start; their steps are left 0. False: `state` said stop.
  bool run(SearchState* state, Sends* sends);

 private:
  struct Event {
    enum Kind : std::uint32_t { link_free, arrival };
    Picoseconds time;
    Kind kind;
    std::uint32_t what;   ///< a link, or the channel of an arrival
    std::uint32_t chunk;  ///< of an arrival
    bool operator>(const Event& other) const { return time > other.time; }
  };

  /// How many chunks a channel's source had when none of them could be chosen. A chunk that a rank or cluster has stays
  /// there, so that only a further one of the source can be.
  struct FoundNothing {
    std::int32_t unknown = -1;  ///< of those that the destination's cluster lacks
    std::int32_t lacking = -1;  ///< of those that the destination lacks
  };
  /// What latest_through_ranks said, as long as nothing is sent to or from the cluster and it is as late.
  struct AllThroughRanks {
    Picoseconds now = -1, latest = 0;
    std::uint32_t sends = 0;
  };
  static constexpr std::uint32_t kSooner = Rarity::kNone - 1;

  void index_links();
  void find_told_by_ports();
  void hold_at_first(const Flood& flood);
  void mark(std::uint32_t channel);
  void mark_all();
  void match_marked();
  void match(std::uint32_t channel);
  std::uint64_t priority(std::uint32_t channel, int preference) const;
  int first_choice(Rank src, std::uint32_t link) const;
  void note_whether_closed(std::uint32_t link);
  void handle(const Event& event);
  Rarity& rarity_in(int speed) { return rarity_[static_cast<std::size_t>(speed) - 1]; }

  bool is_open(std::uint32_t channel) const;
  std::uint32_t choose(std::uint32_t channel);
  template <typename Word>
  std::uint32_t rarest_unless(bool is_empty, const Rarity& around, int cluster, Word word);
  bool all_come_sooner(std::uint32_t channel);
  Picoseconds latest_through_ranks(int speed, Rank dst) const;
  bool may_repeat(std::uint32_t channel);
  bool comes_sooner(std::uint32_t channel, std::uint32_t chunk) const;
  void send(std::uint32_t channel, std::uint32_t chunk);
  void arrive(Rank rank, std::uint32_t chunk);
  void expect(Rank rank, std::uint32_t chunk);
  std::uint32_t& sends_around(int speed, Rank rank) {
    return sends_around_[static_cast<std::size_t>(speed) * lacks_.size() +
                         static_cast<std::size_t>(classes_.cluster_of(speed, rank))];
  }

  const Channels& channels_;
  const SpeedClasses& classes_;
  PeerOrder order_;
  Random random_;
  Sends* sends_ = nullptr;
  Picoseconds now_ = 0;
  std::int64_t missing_ = 0;
  std::int64_t work_ = 0;  ///< channels asked, marked, and words of chunks seen, that nobody has counted yet
  bool patient_ = true;    ///< whether slow channels leave chunks to faster ones

  WidePorts wide_;
  Turns turns_;                                ///< of its ports
  std::vector<std::uint8_t> is_told_by_port_;  ///< per channel, whether it is open where `wide_` says so
  ChunkSets have_;                             ///< per rank, chunks that are there or on their way
  ChunkSets holders_;  ///< per chunk, ranks that have it so; empty where no port is wide
  ChunkSets there_;    ///< per rank
  std::vector<std::int32_t> there_count_;
  std::vector<Picoseconds> delay_;           ///< per channel, together: its links lie far apart
  std::vector<FoundNothing> found_nothing_;  ///< per channel
  std::vector<Rarity> rarity_;               ///< of what ranks have, in clusters(1) … clusters(count())
  std::vector<std::int32_t> lacks_;          ///< per rank, how many chunks it does not have

  std::vector<Picoseconds> free_;  ///< per link
  std::vector<int> turn_;          ///< per link, distance to the peer that it served last
  std::vector<std::uint32_t> over_offset_,
      over_;  ///< per link, the channels over it that `wide_` does not mark with it
  /// Per link, how long after its start a chunk gets here: on the channel where that is soonest, and latest.
  std::vector<std::pair<Picoseconds, Picoseconds>> head_start_;
  std::vector<std::uint8_t> is_closed_;                 ///< per link, whether nothing over it can start
  std::vector<std::vector<std::uint32_t>> narrow_out_;  ///< per rank, its channels of ports that are not wide
  std::vector<std::uint32_t> into_by_speed_;     ///< channels into each rank in turn, faster ones first
  std::vector<std::uint32_t> marked_;            ///< channels to look at, of ports that are not wide
  std::vector<std::uint8_t> is_marked_, waits_;  ///< per channel; waits: left a chunk to a faster one
  std::vector<std::int32_t> waiting_into_;       ///< per rank, how many channels into it do
  std::vector<std::int32_t> under_way_to_;       ///< per rank, chunks
  std::vector<std::int32_t> looked_at_with_;     ///< per rank, what it lacked when those were looked at last
  std::vector<AllThroughRanks> all_through_ranks_;  ///< per speed and destination
  std::vector<std::uint32_t> sends_around_;         ///< per speed and cluster, to or from its ranks
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace hemiola::synthesis
