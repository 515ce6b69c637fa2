// SPDX-License-Identifier: Apache-2.0
// A late rank's finish, written with the ranks and chunks of a job: tables number the late rank last and chunks by
// the round in which the late rank releases them.
#pragma once

#include <memory>
#include <vector>

#include "hemiola/algorithms/late/late_finish.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// The table for (rank_count, chunk_count), from a cache that all late ranks share.
std::shared_ptr<const FinishTable> cached_late_finish(int rank_count, int chunk_count,
                                                      FinishKind kind = FinishKind::doubling);

/// Chunk numbers in the buffer: the chunks of one owner lie side by side, in the order in which they are released.
std::vector<Chunk> buffer_order(const std::vector<Rank>& owner);

/// Numbers a finish's ranks and chunks as the job does. A chunk of the finish is `pieces` chunks of the schedule.
struct FinishInJob {
  const FinishTable& table;
  Rank late_rank;
  std::vector<Chunk> place;  ///< the finish's chunk → its place among the finish's chunks in the buffer
  int pieces = 1;

  int early_count() const { return table.rank_count - 1; }
  Rank rank(Rank r) const;
  Chunk piece(Chunk c, int i) const { return Chunk{place[static_cast<std::size_t>(c)] * pieces + i}; }
  /// In the table's numbers.
  Rank owner(Chunk c) const { return table.owner[static_cast<std::size_t>(c)]; }
};

/// The table numbers early ranks 0 … n-2 and the late rank n-1; the job numbers them as they are.
Rank rank_in_job(Rank rank, Rank late_rank, int rank_count);

/// Appends the rounds after arrival. Returns the first step that follows.
int add_finish(ScheduleBuilder* builder, const FinishInJob& finish, int first_step);

/// Throws ArgumentError, on behalf of `algorithm`, for fewer than 3 ranks and for a late rank that does not exist.
void check_late_rank(const char* algorithm, int rank_count, Rank late_rank);

}  // namespace hemiola::algorithms
