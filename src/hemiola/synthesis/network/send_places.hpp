// SPDX-License-Identifier: Apache-2.0
// Numbers for the ranks' slots that a list of sends reads and writes: one per rank and chunk, or, where most of these would
// go unused, one for each that occurs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemiola/synthesis/network/channels.hpp"
#include "hemiola/synthesis/network/sends.hpp"

namespace hemiola::synthesis {

class SendPlaces {
 public:
  /// Both must outlive it; steps of the sends do not matter. Cost: O(sends + ranks + chunks).
  SendPlaces(const Channels& channels, const Sends& sends, int chunk_count);

  std::size_t count() const { return count_; }
  /// The slot that the send reads, of its chunk at its source.
  std::size_t from(std::size_t send) const {
    return used_.empty() ? at(channels_[sends_[send].channel].src, send) : used_[send].from;
  }
  /// The slot that the send writes, of its chunk at its destination.
  std::size_t to(std::size_t send) const {
    return used_.empty() ? at(channels_[sends_[send].channel].dst, send) : used_[send].to;
  }

 private:
  struct Ends {
    std::uint32_t from, to;
  };
  std::size_t at(Rank rank, std::size_t send) const {
    return static_cast<std::size_t>(rank) * chunk_count_ + sends_[send].chunk;
  }
  void number_used();

  const Channels& channels_;
  const Sends& sends_;
  std::size_t chunk_count_;
  std::size_t count_;
  std::vector<Ends> used_;  ///< per send; empty where every rank has a slot of every chunk
};

}  // namespace hemiola::synthesis
