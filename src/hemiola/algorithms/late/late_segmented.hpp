// SPDX-License-Identifier: Apache-2.0
// All-reduce with one late rank that may come before the others have reduced everything, and how finely to cut it where
// the late rank is found while it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/algorithms/late/late_finish.hpp"

namespace hemiola::algorithms {

/// How much of the buffer the early ranks have reduced among themselves when the late rank arrives.
struct LateSegments {
  int segments = 1;          ///< equal parts of the buffer, reduced one after another
  int reduced = 1;           ///< how many of them are reduced, 0 … segments
  int chunks_per_owner = 1;  ///< of each reduced segment
  FinishKind finish = FinishKind::doubling;
};

/// Where the finish's chunks lie when segments are reduced one after another: a rank's releases go through its blocks
/// segment by segment, so every segment's blocks belong to the same ranks however many segments there are.
std::vector<Chunk> segmented_order(const FinishTable& table, int chunks_per_owner);
/// Throws ArgumentError on behalf of `algorithm`.
void check_segments(const char* algorithm, const LateSegments& parts);

/// The reduced segments get the short finish together, all others a plain ring all-reduce of all ranks: with no segment
/// reduced this is the ring, with all of them the one that waits. The reduce-scatter of segment k takes the
/// same steps, (n - 2)·k on, for any `reduced`, so it can run before that is known. Throws ArgumentError.
Schedule all_reduce_late_segmented(int rank_count, Rank late_rank, const LateSegments& parts);

/// A cut for a rank that comes at an unknown time, and its predicted duration.
struct LateCut {
  int segments = 1;
  int chunks_per_owner = 1;
  double segment_s = 0;          ///< the reduce-scatter of one segment
  std::vector<double> finish_s;  ///< after 1 … segments of them: their finish and the ring for the others
  FinishKind finish = FinishKind::doubling;
};

/// The minimum over the finish's chunks is flat. Among the counts within 2 % of it, as many segments are
/// taken as there may be, at most 8, since a rank that comes in the middle of one waits for its end. Each has
/// no more chunks than needed, since a message has costs that the formula does not know. rank_count >= 1,
/// nbytes >= 0, bandwidth > 0. For a direct finish, its best number of chunks.
LateCut late_cut(int rank_count, std::int64_t nbytes, PortSpeed port, FinishKind finish);

/// "doubling" or "direct"; throws ArgumentError on behalf of `algorithm` for another word.
FinishKind finish_kind(const char* algorithm, const std::string& word);

std::vector<Algorithm> late_segmented_algorithms();

}  // namespace hemiola::algorithms
