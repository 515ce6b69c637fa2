// SPDX-License-Identifier: Apache-2.0
// Schedules that do not fit in memory: written while they are found.
#pragma once

#include <cstdint>

#include "hemiola/base/units.hpp"
#include "hemiola/schedule/file/bytes.hpp"
#include "hemiola/synthesis/options.hpp"

namespace hemiola::synthesis {

struct Streamed {
  std::int64_t transfer_count = 0;
  int step_count = 0;
  Picoseconds duration_at_most = 0;  ///< one full delay for each step where a step is a tick
  bool streamed = false;             ///< false: it was made in memory first
};

/// Writes a schedule in its binary form. Where all links are alike, an all_gather, and every other collective
/// that brings every chunk to every rank without adding up, is streamed. Memory is one bit per rank and
/// chunk, and the chunks that neighbours have yet to pass on. All other schedules are made in memory. Of
/// `options.trials` a streamed search makes one. Throws the errors of synthesize(); the sink then holds no
/// readable schedule.
Streamed synthesize_into(const Topology& topology, const Collective& collective, const Options& options,
                         ByteSink* sink);

}  // namespace hemiola::synthesis
