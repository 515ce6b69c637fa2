// All-reduce with one late rank: the others reduce-scatter among themselves while they wait; the late rank's
// arrival starts a finish that moves each byte once through its port.
#pragma once

#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// Ring reduce-scatter among the early ranks (rank_count - 2 steps), then chunk_count + ⌈log2 n⌉ - 1 exchange
/// rounds: the lower bound after arrival. Owners are balanced; the late rank's part is added exactly once per
/// chunk. rank_count >= 3; throws ArgumentError. The finish comes from a cache shared by all late ranks.
Schedule all_reduce_late(int rank_count, Rank late_rank, int chunk_count);

/// StragglAR's published schedule for powers of two: n + log2 n - 2 rounds after arrival, one chunk per early
/// rank [StragglAR, §3 and Algorithm 1]. Throws ArgumentError for other counts.
Schedule all_reduce_stragglar(int rank_count, Rank late_rank);

/// The number of steps before the finish.
int late_finish_first_step(int rank_count);

/// How much of the buffer the early ranks have reduced among themselves when the late rank arrives.
struct LateSegments {
  int segments = 1;          ///< equal parts of the buffer, reduced one after another
  int reduced = 1;           ///< how many of them are reduced, 0 … segments
  int chunks_per_owner = 1;  ///< of each reduced segment
};

/// The reduced segments get the short finish together, all others a plain ring all-reduce of all ranks: with no segment
/// reduced this is the ring, with all of them all_reduce_late. The reduce-scatter of segment k takes the same steps,
/// (n - 2)·k on, whatever `reduced` is, so it can run before that is known. Throws ArgumentError.
Schedule all_reduce_late_segmented(int rank_count, Rank late_rank, const LateSegments& parts);

/// The chunk count that minimizes (M + q - 1)(α + s·β/M): M* = sqrt((q - 1)·s·β/α), at least 1, at most
/// `limit`.
int best_late_chunk_count(int rank_count, double nbytes, double latency_s, double bandwidth_Bps, int limit);

}  // namespace hemiola::algorithms
