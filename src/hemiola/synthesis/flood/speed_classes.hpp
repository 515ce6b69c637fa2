// SPDX-License-Identifier: Apache-2.0
// Which channels are faster than which, and which ranks the faster ones join: a chunk that is in such a cluster already
// should not come through a slow channel again.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/synthesis/network/channels.hpp"

namespace hemiola::synthesis {

class SpeedClasses {
 public:
  /// At most this many; channels of many different speeds are grouped at the largest ratios between neighbouring ones.
  static constexpr int kMost = 8;

  explicit SpeedClasses(const Channels& channels);

  int count() const { return static_cast<int>(cluster_count_.size()) - 1; }
  /// 0 is the fastest. A channel is as fast as its slowest link.
  int class_of(std::uint32_t channel) const { return class_of_[channel]; }
  /// The ranks that channels of classes below `speed` join, numbered 0 … cluster_count(speed)-1; for 0 every rank is a
  /// cluster of its own, for count() all that are connected are one.
  int cluster_of(int speed, Rank rank) const {
    return cluster_of_[static_cast<std::size_t>(speed)][static_cast<std::size_t>(rank)];
  }
  const std::vector<int>& clusters(int speed) const { return cluster_of_[static_cast<std::size_t>(speed)]; }
  int cluster_count(int speed) const { return cluster_count_[static_cast<std::size_t>(speed)]; }
  /// In ranks.
  int cluster_size(int speed, int cluster) const {
    return cluster_size_[static_cast<std::size_t>(speed)][static_cast<std::size_t>(cluster)];
  }
  /// Chunks per picosecond that can enter a cluster from outside, over all links together.
  double cluster_rate(int speed, int cluster) const {
    return cluster_rate_[static_cast<std::size_t>(speed)][static_cast<std::size_t>(cluster)];
  }
  /// The same for one rank.
  double rank_rate(Rank rank) const { return cluster_rate(0, rank); }

 private:
  std::vector<std::uint8_t> class_of_;
  std::vector<std::vector<int>> cluster_of_;
  std::vector<int> cluster_count_;
  std::vector<std::vector<int>> cluster_size_;
  std::vector<std::vector<double>> cluster_rate_;
};

}  // namespace hemiola::synthesis
