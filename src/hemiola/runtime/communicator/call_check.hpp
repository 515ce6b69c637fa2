// SPDX-License-Identifier: Apache-2.0
// The errors in a call that one rank can see.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/runtime/communicator/call_desk.hpp"

namespace hemiola {

/// How the arrays of a correct call relate.
struct CallShape {
  /// See BufferLayout. Of blocks that differ, their mean; of an exchange, the longest.
  std::int64_t block_elements = 0;
  bool in_place = false;
  std::vector<std::int64_t> block_sizes = {};  ///< where blocks differ
};

/// Throws ArgumentError: an array is missing, not contiguous, read-only or of the wrong size or type, input and output
/// overlap other than in place, the root does not exist, or the operation makes no sense for the type.
CallShape check_call(const Call& call, Rank self, int rank_count);

/// Throws ArgumentError unless a schedule for `collective` is one for this collective, root and number of ranks.
void check_schedule(const Collective& collective, const CallKey& key, int rank_count);

}  // namespace hemiola
