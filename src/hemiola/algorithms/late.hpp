// All-reduce with one late rank: the others reduce-scatter among themselves while they wait; the late rank's
// arrival starts a finish that moves each byte once through its port.
#pragma once

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// Ring reduce-scatter among the early ranks (rank_count - 2 steps), then chunk_count + ⌈log2 n⌉ - 1 exchange
/// rounds: the lower bound after arrival. Owners are balanced; the late rank's part is added exactly once per
/// chunk. rank_count >= 3; throws ArgumentError. The finish comes from a cache shared by all late ranks.
Schedule all_reduce_late(int rank_count, Rank late_rank, int chunk_count);

/// StragglAR's published schedule for powers of two: n + log2 n - 2 rounds after arrival, one chunk per early
/// rank [StragglAR, §3 and Algorithm 1]. Throws ArgumentError for other counts.
Schedule all_reduce_stragglar(int rank_count, Rank late_rank);

/// Into how many pieces a chunk is cut while the early ranks reduce, so that all of them have one where there are fewer
/// chunks than early ranks: max(1, ⌊(n - 1) / chunk_count⌋).
int late_pieces(int rank_count, int chunk_count);

/// The chunk count for which the finish is shortest: M* = sqrt((⌈log2 n⌉ - 1)·sβ/α), as a multiple of the n - 1
/// early ranks where it is no smaller, so that owners are balanced; from 1 to 2^20. nbytes >= 0; throws
/// ArgumentError for fewer than 3 ranks and a port without latency or bandwidth.
int late_chunk_count(int rank_count, std::int64_t nbytes, PortSpeed port);

/// The number of steps before the finish: n - 2, and one more where pieces are gathered at their owners.
int late_finish_first_step(int rank_count, int chunk_count);

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

}  // namespace hemiola::algorithms
