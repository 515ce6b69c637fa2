// SPDX-License-Identifier: Apache-2.0
// Turns one rank's part of a schedule into a Program for buffers of one size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/runtime/executor/program/message_plan.hpp"
#include "hemiola/runtime/executor/program/program.hpp"
#include "hemiola/runtime/executor/program/rank_part.hpp"
#include "hemiola/runtime/wire/wire_traits.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

struct CompileOptions {
  std::int64_t block_elements = 0;             ///< see BufferLayout
  std::vector<std::int64_t> block_sizes = {};  ///< see BufferLayout; empty: all have `block_elements`
  int element_bytes = 1;
  MessageRules rules;
  PortMap ports;
  bool in_place = false;  ///< output and input are the same bytes where a chunk lies in both
  /// In place: save overwritten elements, so that a failure can be undone. Programs of an average save nothing, since
  /// the executor keeps the whole input before it multiplies it.
  bool keep_inputs = true;
  bool average = false;  ///< scale each result once nobody needs the plain sum any more
  bool land_at_once =
      false;           ///< receive the summands of one step side by side, and add it in order afterwards
  InBlocks in_blocks;  ///< nothing is joined where a block ends
  Coding coding = Coding::none;  ///< messages bring their size and may leave zeros out; the same on all ranks
  bool names_transfers = false;  ///< the program says which transfers each message carries
};

/// Deterministic: both ends of each pair derive matching messages from the same schedule and options (`in_place`,
/// `keep_inputs`, `in_blocks`, `land_at_once`, `names_transfers` and `ports` may differ between ranks).
///
/// Throws ArgumentError when the rank's part cannot be run: see trace_slots, BufferLayout, and a wanted chunk that
/// never comes. Time and memory are linear in the rank's own transfers times slices, plus the chunk count.
Program compile(const Collective& collective, std::span<const std::int64_t> chunk_weights,
                const RankPart& part, const CompileOptions& options);
Program compile(const Schedule& schedule, Rank rank, const CompileOptions& options);

}  // namespace hemiola
