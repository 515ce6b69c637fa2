// SPDX-License-Identifier: Apache-2.0
// An all-gather that is told transfer by transfer, as any of three collectives: as it is; backwards, with sums in place of
// copies, as a reduce-scatter; and the one after the other as an all-reduce.
#pragma once

#include <cstdint>
#include <string>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// Steps of an all-gather, and which collective is made of it.
struct Mirror {
  CollectiveKind kind;
  int gather_steps;

  bool reduces() const { return kind != CollectiveKind::all_gather; }
  bool gathers() const { return kind != CollectiveKind::reduce_scatter; }

  /// The image of a transfer of the all-gather, where it runs backwards and where it runs as it is.
  Transfer backwards(const Transfer& copy) const {
    return {Step{gather_steps - 1 - copy.step}, copy.dst, copy.src, copy.chunk, true};
  }
  Transfer forwards(const Transfer& copy) const {
    return {Step{copy.step + (reduces() ? gather_steps : 0)}, copy.src, copy.dst, copy.chunk, false};
  }
};

/// How many transfers a schedule has in which every chunk reaches every rank once, or comes from every rank once.
inline std::int64_t mirrored_transfers(CollectiveKind kind, std::int64_t rank_count, int chunks_per_rank) {
  const std::int64_t once = rank_count * (rank_count - 1) * chunks_per_rank;
  return kind == CollectiveKind::all_reduce ? 2 * once : once;
}

/// The whole schedule; `for_each_copy(visit)` visits the transfers of the all-gather. Throws ArgumentError where there
/// are more than Algorithm::kMaxTransfers.
template <typename ForEachCopy>
Schedule mirrored(const std::string& name, Mirror mirror, int rank_count, int chunks_per_rank,
                  ForEachCopy for_each_copy) {
  const std::int64_t count = mirrored_transfers(mirror.kind, rank_count, chunks_per_rank);
  if (count > Algorithm::kMaxTransfers)
    throw ArgumentError(name + ": " + std::to_string(rank_count) + " ranks would need " +
                        std::to_string(count) + " transfers, expected at most " +
                        std::to_string(Algorithm::kMaxTransfers) +
                        "; take fewer pieces, or the schedule rank by rank where there is a function for it");
  ScheduleBuilder builder(
      Collective::make(mirror.kind, rank_count, std::int64_t{rank_count} * chunks_per_rank));
  builder.reserve(count);
  if (mirror.reduces()) for_each_copy([&](const Transfer& copy) { builder.add(mirror.backwards(copy)); });
  if (mirror.gathers()) for_each_copy([&](const Transfer& copy) { builder.add(mirror.forwards(copy)); });
  return builder.finish();
}

}  // namespace hemiola::algorithms
