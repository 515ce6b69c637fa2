// SPDX-License-Identifier: Apache-2.0
// The number of segments that is worth its cost for an exchange among slow ranks, and its time then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hemiola/algorithms/task.hpp"

namespace hemiola::algorithms {

/// That are tried. More save a hundredth at most.
inline constexpr int kSegmentCounts[] = {1, 2, 4, 8, 16, 32, 64};

/// Where none is given: latency · bandwidth / bytes for 4 µs at 25 GB/s and 1 GB.
inline constexpr double kRelativeLatency = 1e-4;

/// An exchange in k segments takes k + 1 bodies of so many rounds.
struct SegmentedExchange {
  double load;     ///< the busiest port's load per body, over the buffer through the fastest rank's port
  int rounds;      ///< that wait for a latency each, in a body
  double message;  ///< the smallest message, as a share of a segment
};

struct SegmentChoice {
  int segments;
  double seconds;     ///< were each round to wait for its latency
  double overlapped;  ///< were only bodies to
};

/// The best number if every round waits for its latency, and the best of those measurable if only bodies do: which of
/// the two a network is like, its simulation tells. Measurable are those whose messages take ports at least as long as
/// a latency; of smaller ones nobody can tell whether a port is slow, or has recovered. In at most so many segments.
std::vector<SegmentChoice> best_segments(const Task& task, const SegmentedExchange& exchange,
                                         std::int64_t most_segments = kSegmentCounts[6]);

/// The best of those measurable, for exchanges of many small messages; nothing where none is.
std::optional<SegmentChoice> best_measurable_segments(const Task& task, const SegmentedExchange& exchange);

/// Whether ranks are slow, and not all alike.
bool has_slow_ranks(const Task& task);

}  // namespace hemiola::algorithms
