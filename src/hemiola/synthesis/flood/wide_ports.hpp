// SPDX-License-Identifier: Apache-2.0
// Ports that lead to many ranks of one speed, as those behind switches do, and which of their channels are to
// be looked at, as sets of ranks. An event's cost goes with the ranks in words of 64, not with pairs of
// ranks. A link that all channels of a port pass, or all of a speed into a rank, marks and closes all of them
// at once.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/synthesis/flood/chunk_sets.hpp"
#include "hemiola/synthesis/flood/speed_classes.hpp"
#include "hemiola/synthesis/network/channels.hpp"

namespace hemiola::synthesis {

class WidePorts {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  /// Both must outlive it.
  WidePorts(const Channels& channels, const SpeedClasses& classes);

  bool has_any() const { return !ports_.empty(); }
  bool has(std::uint32_t channel) const { return port_of_[channel] != kNone; }
  /// Whether `mark_over` of the link marks the channel.
  bool is_marked_over(std::uint32_t channel, std::uint32_t link) const;

  void mark(std::uint32_t channel);
  /// The chunks that pass the link, as far as all channels of a port or into a rank do.
  void mark_over(std::uint32_t link);
  /// All channels from a rank to those that are not in the set.
  void mark_out_of(Rank rank, const std::uint64_t* without);
  void forget_marks();

  /// No channel over the link can start now, or again some may: as far as all of a port or into a rank pass it.
  void close(std::uint32_t link);
  void open(std::uint32_t link);

  /// Calls visit(port) for each open one that may have marked channels.
  template <typename Visit>
  void for_each_marked(Visit visit) const;
  bool is_open(std::uint32_t port) const { return ports_[port].closing == 0; }
  /// As far as links that all channels of its port or into its rank pass tell.
  bool is_channel_open(std::uint32_t channel) const {
    const std::uint32_t port = port_of_[channel];
    return is_open(port) &&
           !contains(closed_into_[ports_[port].speed], static_cast<std::uint32_t>(channels_[channel].dst));
  }
  Rank src(std::uint32_t port) const { return ports_[port].src; }
  std::uint32_t first_link(std::uint32_t port) const { return ports_[port].link; }
  /// The first marked channel of those to the rank that is `passed` places after `first`, and to the ranks after that,
  /// round to the one before `first`; none into a closed rank. Sets `passed` to how far after `first` it leads.
  std::uint32_t next_marked(std::uint32_t port, int first, int* passed) const;

 private:
  struct Port {
    Rank src;
    std::uint32_t link;
    int speed;
    std::vector<std::uint32_t> shared;  ///< links that all its channels pass
    int closing = 0;                    ///< how many of these are closed
    bool is_touched = false;            ///< has marks of its own
  };
  /// All wide channels of a speed into a rank.
  struct Column {
    std::vector<std::uint32_t> shared;
    int closing = 0;
  };

  void find_ports(const SpeedClasses& classes);
  void find_shared_links();
  std::size_t column_of(int speed, Rank dst) const {
    return static_cast<std::size_t>(speed) * rank_count_ + static_cast<std::size_t>(dst);
  }
  void touch(std::uint32_t port);

  const Channels& channels_;
  std::size_t rank_count_;
  std::vector<Port> ports_;
  std::vector<Column> columns_;
  std::vector<std::uint32_t> port_of_;                                 ///< by channel
  std::vector<std::uint32_t> channel_to_;                              ///< by port and destination
  std::vector<std::vector<std::uint32_t>> ports_of_;                   ///< by rank
  std::vector<std::vector<std::uint32_t>> ports_over_, columns_over_;  ///< by link that they share
  ChunkSets leads_to_, marked_;                                        ///< by port, ranks
  ChunkSets marked_into_, closed_into_;                                ///< by speed, ranks
  std::vector<std::uint8_t> has_marked_into_;                          ///< by speed
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint64_t> open_;  ///< ports, as bits
};

template <typename Visit>
void WidePorts::for_each_marked(Visit visit) const {
  for (std::size_t w = 0; w < open_.size(); ++w)
    for (std::uint64_t bits = open_[w]; bits != 0; bits &= bits - 1) {
      const auto port =
          static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
      const Port& seen = ports_[port];
      if (seen.is_touched || has_marked_into_[static_cast<std::size_t>(seen.speed)]) visit(port);
    }
}

}  // namespace hemiola::synthesis
