// The ring: every rank sends to rank + 1, so all links of a ring carry the same load in every step.
#pragma once

#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// n-1 steps; in step t rank r passes on the chunk of rank r - t.
Schedule all_gather_ring(int rank_count);
/// n-1 steps; the chunk of owner o starts at rank o + 1 and gathers parts until it reaches o.
Schedule reduce_scatter_ring(int rank_count);
/// Reduce-scatter, then all-gather: 2(n-1) steps, 2(n-1)/n of the buffer per rank [Patarasuk & Yuan, 2009].
Schedule all_reduce_ring(int rank_count);

}  // namespace hemiola::algorithms
