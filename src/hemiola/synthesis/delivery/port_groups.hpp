// SPDX-License-Identifier: Apache-2.0
// The channels out of each rank by the port, their first link, that they leave through. Also ports that lead
// to the same ranks by the same links, as those of all ranks on one switch do: the cheapest choice behind one
// of them is the cheapest behind all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/synthesis/network/channels.hpp"

namespace hemiola::synthesis {

class PortGroups {
 public:
  /// Cost: O(1) per link of a channel.
  explicit PortGroups(const Channels& channels);

  /// The ports of a rank are first_of(rank) … first_of(rank + 1).
  std::uint32_t first_of(int rank) const { return first_of_[static_cast<std::size_t>(rank)]; }
  /// Those that leave through the port, by destination; at least one.
  std::span<const std::uint32_t> channels(std::uint32_t port) const {
    return {channels_.data() + begin_[port], channels_.data() + begin_[port + 1]};
  }
  /// Two ports of a group lead to the same ranks but for their own, and from the end of their links by the same links.
  std::uint32_t group(std::uint32_t port) const { return group_[port]; }
  std::uint32_t group_count() const { return group_count_; }

 private:
  struct Group {
    std::uint32_t first_port;
    Rank first_rank;              ///< rank of this port
    std::uint32_t to_first_rank;  ///< a channel from another port of the group, once there is one
  };

  void cut_into_ports(const Channels& channels);
  void group_ports(const Channels& channels);
  bool joins(const Channels& channels, std::uint32_t port, Group* group) const;

  std::vector<std::uint32_t> first_of_;  ///< per rank, and one more
  std::vector<std::uint32_t> begin_;     ///< per port, and one more
  std::vector<std::uint32_t> channels_;
  std::vector<std::uint32_t> group_;
  std::uint32_t group_count_ = 0;
};

}  // namespace hemiola::synthesis
