// SPDX-License-Identifier: Apache-2.0
// An all-reduce that takes no longer than an all-gather where latency decides: every rank's buffer goes to every rank as
// it is, and each adds up all of them by itself.
#pragma once

#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

/// Where an all-gather brings chunk i of rank r, the all-reduce brings rank r's part of chunk i, into scratch slot 1 + r
/// of that chunk. Every rank adds up the parts in the order of the ranks, so that all get the same bits. One latency of
/// the all-gather instead of a reduce-scatter's and an all-gather's; every rank receives n-1 whole buffers and keeps n in
/// scratch: for small ones.
///
/// Throws ArgumentError for any collective but an all-gather of equal chunks, equally many of each rank,
/// without scratch, and for more ranks than have scratch slots (2047). Costs O(transfers log transfers).
Schedule one_shot_all_reduce(const Schedule& all_gather);

}  // namespace hemiola
