// SPDX-License-Identifier: Apache-2.0
// Pipelining written out: every chunk is cut into slices, and every slice runs the same schedule.
#pragma once

#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

/// Chunk c becomes chunks c * slice_count … c * slice_count + slice_count - 1, of its owner and its weight
/// each. Slice i runs `stagger` * i steps later: 0 runs all slices in the same steps, 1 makes a pipeline in
/// which a rank passes slice i on while it receives slice i + 1. Throws ArgumentError for slice_count < 1,
/// stagger < 0, or more chunks or steps than a schedule may have.
Schedule repeat_per_slice(const Schedule& schedule, std::int64_t slice_count, std::int64_t stagger);

}  // namespace hemiola
