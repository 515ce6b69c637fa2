// SPDX-License-Identifier: Apache-2.0
// Into how many chunks a late rank's finish is cut.
#pragma once

#include <cstdint>
#include <set>

#include "hemiola/algorithms/task.hpp"

namespace hemiola::algorithms {

/// More chunks save less than a thousandth of the time, and a message has costs that the formula does not know.
inline constexpr int kMostFinishChunks = 4096;

/// M chunks take M + ⌈log2 n⌉ - 1 rounds, one chunk each.
int finish_rounds(int rank_count, int chunk_count);

/// The M for which the rounds are shortest: M* = sqrt((⌈log2 n⌉ - 1)·sβ/α), as a multiple of the n - 1 early ranks where
/// it is no smaller, so that owners are balanced; from 1 to kMostFinishChunks. For rank_count >= 3.
int best_finish_chunks(int rank_count, std::int64_t nbytes, PortSpeed port);

/// That one, and the whole number next to M* where multiples lie far apart: a simulation tells which is better.
std::set<int> good_finish_chunks(int rank_count, std::int64_t nbytes, PortSpeed port);

}  // namespace hemiola::algorithms
