// SPDX-License-Identifier: Apache-2.0
// The early ranks' work while they wait for a late one: a reduce-scatter among themselves, before any finish.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "hemiola/algorithms/late/finish_in_job.hpp"
#include "hemiola/algorithms/task.hpp"

namespace hemiola::algorithms {

/// The other ranks, in the order of their numbers.
std::vector<Rank> others(int rank_count, const std::vector<Rank>& ranks);

/// Reduces a chunk along a ring of the given ranks, from step 0, so that it ends at place `end` of the ring.
void add_ring_reduce(ScheduleBuilder* builder, const std::vector<Rank>& ring, std::size_t end, Chunk chunk);

/// A chunk gathers the early ranks' parts along their ring, from just behind `end` round to it.
void add_ring_reduce(ScheduleBuilder* builder, const FinishInJob& finish, Chunk chunk, Rank end,
                     int first_step);

/// The reduce-scatter of all early ranks, then the finish. Where it has fewer chunks than there are early
/// ranks, each chunk is reduced in pieces by different ranks, all of which then hand theirs to its owner. So
/// the reduce-scatter is the balanced one of all early ranks, and one more step gathers.
Schedule reduce_then_finish(const FinishTable& table, Rank late_rank);

/// The late rank of a task that has exactly one; nothing where there are fewer than 3 ranks, too.
std::optional<Rank> one_late_rank(const Task& task);

/// Seconds of such a schedule for the one late rank of a task, its finish in that many rounds of one chunk each.
double reduce_then_finish_s(const Task& task, int round_count, int chunk_count);

}  // namespace hemiola::algorithms
