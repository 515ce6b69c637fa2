// SPDX-License-Identifier: Apache-2.0
// A network as lists of sends see it: the ways between ranks, and a chunk's time on each link of a way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/base/units.hpp"

namespace hemiola::trees {

/// One link of a channel's way.
struct Hop {
  std::uint32_t link;  ///< its number
  Picoseconds busy;    ///< one chunk keeps the link from the next for this long
  Picoseconds delay;   ///< one chunk is at the far end this long after it started; at least `busy`

  friend bool operator==(const Hop&, const Hop&) = default;
};

/// A link between two ranks, or the way from one to the other through switches.
struct Channel {
  Rank src;
  Rank dst;

  friend bool operator==(const Channel&, const Channel&) = default;
};

struct Network {
  std::vector<Channel> channels;
  std::vector<std::uint32_t> hop_offset{0};  ///< by channel: its first hop; one more entry at the end
  std::vector<Hop> hops;
  std::uint32_t link_count = 0;

  /// A channel of one link.
  void add(Channel channel, Hop hop) {
    channels.push_back(channel);
    hops.push_back(hop);
    hop_offset.push_back(static_cast<std::uint32_t>(hops.size()));
    link_count = std::max(link_count, hop.link + 1);
  }
  /// At least one; a chunk is stored and forwarded at each switch.
  std::span<const Hop> hops_of(std::uint32_t channel) const {
    return {hops.data() + hop_offset[channel], hops.data() + hop_offset[channel + 1]};
  }
  bool has_switches() const { return hops.size() > channels.size(); }
};

}  // namespace hemiola::trees
