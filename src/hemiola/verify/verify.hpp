// SPDX-License-Identifier: Apache-2.0
// The judge: proves a schedule right by following every rank's contribution through every slot. Knows the
// collective's promise and the meaning of a step (docs/decisions/0001-schedule.md), and no algorithm.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hemiola/schedule/schedule.hpp"
#include "hemiola/schedule/transfer_source.hpp"
#include "hemiola/verify/limits.hpp"
#include "hemiola/verify/violation.hpp"

namespace hemiola {

struct VerifyOptions {
  /// Only the first so many violations, in the order (step, chunk, rank, rule), are returned.
  int max_violations = 100;
  /// Also report copies of a value that the slot already holds: wasteful, not wrong.
  bool report_redundant = false;
  /// The schedule's promises besides its collective's.
  Limits limits;
  /// Transfers are sorted by chunk in as many passes as keep the sorted part below this size.
  std::int64_t memory_bytes = std::int64_t{1} << 30;
  /// How many threads judge; 0: as many as the machine has and the schedule keeps busy, at most 4.
  int threads = 0;
  /// Called now and then, by the calling thread, with the transfers judged so far and their total; an
  /// exception that it throws ends the work.
  std::function<void(std::int64_t, std::int64_t)> progress;
};

/// Returns a schedule's violations; empty when it keeps its collective's promise.
///
/// Exact and deterministic, for any number of threads. Time O(transfers), times ceil(r / 64) for the chunks
/// of a reducing collective whose r wanted results are different sums (copies of one sum count once). Memory:
/// O(rank_count) and the largest chunk's transfers, but at most `memory_bytes` where a single chunk fits in
/// it. Throws ArgumentError for max_violations < 1 or threads < 0.
std::vector<Violation> verify(const Schedule& schedule, const VerifyOptions& options = {});
std::vector<Violation> verify(const TransferSource& source, const VerifyOptions& options = {});

}  // namespace hemiola
