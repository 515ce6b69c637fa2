// SPDX-License-Identifier: Apache-2.0
// Who can send straight to whom, and what one chunk costs there: a topology as the matchers see it. A channel is a link
// between two ranks, or the way from one to the other through switches, where it shares links with other channels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/schedule/pair_table.hpp"
#include "hemiola/topology/topology.hpp"
#include "hemiola/trees/network.hpp"

namespace hemiola::synthesis {

/// How a link's latency counts.
enum class LatencyModel : std::uint8_t {
  pipelined,  ///< the link is free as soon as a chunk is serialized; the chunk is there one latency later
  occupies,   ///< the link stays taken until the chunk is there (what TACOS assumes)
};

using trees::Channel;
using trees::Hop;

/// Immutable; sorted by (src, dst), one channel per ordered pair of ranks whose route (see Routes) touches no third
/// rank where it need not. A simulation may find one past a rank faster.
class Channels {
 public:
  Channels(const Topology& topology, std::int64_t chunk_bytes, LatencyModel latency);
  /// Between these pairs, sorted, alone, whatever ranks their routes pass.
  Channels(const Topology& topology, const std::vector<RankPair>& pairs, std::int64_t chunk_bytes,
           LatencyModel latency);

  /// The same network with every link turned round.
  Channels reversed() const;

  int rank_count() const { return rank_count_; }
  const trees::Network& network() const { return network_; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(network_.channels.size()); }
  std::uint32_t link_count() const { return network_.link_count; }
  const Channel& operator[](std::uint32_t channel) const { return network_.channels[channel]; }
  std::span<const Hop> hops(std::uint32_t channel) const { return network_.hops_of(channel); }
  /// The channel from one rank to another, or count().
  std::uint32_t between(Rank src, Rank dst) const;
  /// From the start of the first hop to the end of the last, where nothing is in the way.
  Picoseconds delay(std::uint32_t channel) const;
  /// Whether every channel has one link of its own and all cost the same, so that time is a number of ticks.
  bool is_uniform() const;
  bool has_switches() const { return network_.has_switches(); }

  /// Channels into a rank, by source.
  std::span<const std::uint32_t> into(Rank rank) const {
    return {in_.data() + first_in(rank), in_.data() + first_in(rank + 1)};
  }
  /// All channels, by (destination, source); those into rank v are at first_in(v) … first_in(v + 1).
  std::span<const std::uint32_t> by_destination() const { return in_; }
  std::uint32_t first_in(int rank) const { return in_offset_[static_cast<std::size_t>(rank)]; }
  /// Channels out of a rank, by destination: consecutive indices.
  std::uint32_t first_out(int rank) const { return out_offset_[static_cast<std::size_t>(rank)]; }

 private:
  Channels() = default;
  void add(const Topology& topology, const RankPair& pair, std::span<const int> path,
           std::int64_t chunk_bytes, LatencyModel latency);
  void index_ends();

  int rank_count_ = 0;
  trees::Network network_;
  std::vector<std::uint32_t> out_offset_, in_offset_, in_;
};

/// The pairs of ranks of which one reaches the other over one link, or through switches alone; sorted.
std::vector<RankPair> peer_pairs(const Topology& topology);

/// Whether two networks are the same but for the numbers of their links, so that what was found for one holds for the
/// other.
bool are_alike(const Channels& a, const Channels& b);

}  // namespace hemiola::synthesis
