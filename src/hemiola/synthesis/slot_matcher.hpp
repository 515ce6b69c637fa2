// Link-chunk matching on the time-expanded network of a uniform topology [TACOS, §IV-D]: time is a number of slots, and
// in every slot each channel takes one chunk that its source holds and its destination lacks.
//
// Which one: the chunk that the source has held longest of those that the destination lacks. A channel therefore walks
// its source's arrival log with a cursor that only ever advances and tests one bit per entry. Within a slot the
// channels into one rank are matched as a bipartite graph (channels against chunks) with augmenting paths, so that no
// channel idles because another took the only chunk that it could have carried.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/synthesis/arrival_log.hpp"
#include "hemiola/synthesis/chunk_sets.hpp"
#include "hemiola/synthesis/flood.hpp"

namespace hemiola::synthesis {

class SlotMatcher {
 public:
  static constexpr std::uint32_t kIdle = ~0u;

  /// The flood must be reachable. A chunk that arrives in slot t may leave in slot t + 1 + `lag`.
  SlotMatcher(const Flood& flood, std::uint64_t seed, int lag);

  bool is_done() const { return missing_ == 0; }
  /// Chunks still to be delivered, over all ranks.
  std::int64_t missing() const { return missing_; }
  int rank_count() const { return channels_.rank_count(); }

  /// Decides one slot: every rank is matched, then every rank is committed, then the slot is closed with the sum of
  /// what the commits returned. Several threads may share the first two stages, each with its own matching and ranks;
  /// the result does not depend on how they share them.
  class Matching;
  std::int64_t commit(Rank rank);
  void close_slot(std::int64_t delivered);

  /// What each channel carries in the slot matched last; kIdle for nothing.
  std::span<const std::uint32_t> picks() const { return by_channel_; }

 private:
  bool is_there(Rank rank, std::uint32_t chunk) const;
  void forget_log(Rank rank);
  std::vector<std::uint32_t>& row(int slot) { return on_way_[static_cast<std::size_t>(slot % (lag_ + 1))]; }

  const Channels& channels_;
  int lag_;
  std::uint64_t seed_;
  int slot_ = 0;
  std::int64_t missing_ = 0;
  ChunkSets have_;                   ///< per rank, chunks that are there or on their way
  std::vector<std::int32_t> lacks_;  ///< per rank, the number of the others
  std::vector<ArrivalLog> log_;      ///< per rank, chunks that are there
  /// Tables with one entry per channel, in order of destination (Channels::first_in).
  std::vector<std::uint32_t> cursor_;  ///< next position in the source's log
  /// One table per slot whose chunks are still on their way.
  std::vector<std::vector<std::uint32_t>> on_way_;
  std::vector<std::uint32_t> place_of_;  ///< channel → its entry in those tables
  std::vector<std::uint32_t> by_channel_;
};

/// One thread's scratch for matching ranks one after another.
class SlotMatcher::Matching {
 public:
  explicit Matching(SlotMatcher* matcher) : matcher_(*matcher), claimed_(matcher->have_.words(), 0) {}
  /// Picks a chunk for as many channels into the rank as possible.
  void match(Rank rank);

 private:
  bool take_oldest(std::size_t channel);
  bool take_from_another(std::size_t channel);
  bool augment(std::size_t channel);
  void set_pick(std::size_t channel, std::uint32_t chunk);

  SlotMatcher& matcher_;
  std::vector<std::uint64_t> claimed_;  ///< the chunks picked for this rank in this slot
  std::vector<bool> visited_;
  const std::uint64_t* have_ = nullptr;
  std::span<const std::uint32_t> into_;
  std::uint32_t* cursor_ = nullptr;
  std::uint32_t* pick_ = nullptr;
  int probes_left_ = 0;
};

}  // namespace hemiola::synthesis
