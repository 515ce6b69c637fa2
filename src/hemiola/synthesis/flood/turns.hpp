// SPDX-License-Identifier: Apache-2.0
// Wide ports in the order in which their channels' turns come: faster ones first, then by how far after its port's first
// choice a channel leads, then by channel. Few of the many are sorted at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/synthesis/flood/chunk_sets.hpp"

namespace hemiola::synthesis {

struct Turn {
  std::uint32_t channel, port;
  int first, passed;  ///< the port's first choice, and how far after it the channel leads
};

class Turns {
 public:
  Turns(int speed_count, int rank_count);

  /// Of a turn of the same port that was taken before: later than that.
  void add(int speed, const Turn& turn);
  /// The next one; null where there is none.
  const Turn* next();
  /// Takes the chunk that `next` gave.
  void take() { ++taken_; }

 private:
  std::size_t rank_count_;
  std::vector<std::vector<Turn>> waiting_;  ///< per speed and distance from the first choice
  ChunkSets filled_;                        ///< one set, of those with any
  bool is_begun_ = false;                   ///< whether the first of them with any is sorted
  std::size_t at_ = 0, taken_ = 0;          ///< that one, and how many of it were taken
};

}  // namespace hemiola::synthesis
