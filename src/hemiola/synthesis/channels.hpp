// Who can send straight to whom, and what one chunk costs there: a topology as the matchers see it. One channel per
// ordered pair of ranks, sorted by (source, destination).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::synthesis {

/// How a link's latency counts.
enum class LatencyModel : std::uint8_t {
  pipelined,  ///< the link is free as soon as a chunk is serialized; the chunk is there one latency later
  occupies,   ///< the link stays taken until the chunk is there (what TACOS assumes)
};

struct Channel {
  Rank src;
  Rank dst;
  Picoseconds busy = 0;   ///< one chunk keeps the channel from the next for this long
  Picoseconds delay = 0;  ///< one chunk is there this long after it started; at least `busy`

  friend bool operator==(const Channel&, const Channel&) = default;
};

/// Immutable. Of parallel links between two ranks only the best counts (least latency, then highest bandwidth), because
/// a schedule names ranks, not links, and whoever runs it sends a pair's chunks one way.
class Channels {
 public:
  /// Throws ArgumentError where the topology has switches (unwind them first).
  Channels(const Topology& topology, std::int64_t chunk_bytes, LatencyModel latency);
  /// `channels` in any order, at most one per ordered pair.
  Channels(int rank_count, std::vector<Channel> channels);

  /// The same network with every channel turned round.
  Channels reversed() const;

  int rank_count() const { return rank_count_; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(channels_.size()); }
  const Channel& operator[](std::uint32_t index) const { return channels_[index]; }
  std::span<const Channel> all() const { return channels_; }
  /// Whether every channel costs the same, so that time is a number of slots.
  bool is_uniform() const;

  /// Channels into a rank, by source.
  std::span<const std::uint32_t> into(Rank rank) const;
  /// All channels, by (destination, source); those into rank v are at first_in(v) … first_in(v + 1).
  std::span<const std::uint32_t> by_destination() const { return in_; }
  std::uint32_t first_in(int rank) const { return in_offset_[static_cast<std::size_t>(rank)]; }
  /// Channels out of a rank, by destination: consecutive indices.
  std::uint32_t first_out(int rank) const { return out_offset_[static_cast<std::size_t>(rank)]; }

  friend bool operator==(const Channels& a, const Channels& b) {
    return a.rank_count_ == b.rank_count_ && a.channels_ == b.channels_;
  }

 private:
  void index_ends();

  int rank_count_;
  std::vector<Channel> channels_;
  std::vector<std::uint32_t> out_offset_, in_offset_, in_;
};

}  // namespace hemiola::synthesis
