// SPDX-License-Identifier: Apache-2.0
// Follows every slot that a rank's transfers touch through the steps and decides where each of its values lies, so that
// no transfer overwrites a value that another of the same step still reads. No sizes, no slices: those come later, in
// `compile`.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/runtime/executor/program/rank_part.hpp"
#include "hemiola/schedule/collective.hpp"

namespace hemiola {

/// The places a slot's value can be in. The scratch spots are for values that the user has no place for, and for one of
/// two values that must exist at the same time.
enum class Spot : std::uint8_t { none, input, output, scratch_a, scratch_b, saved };

/// One transfer's effect on a slot of this rank: a send reads `at`; a receive writes `at`, and when it reduces, the
/// arrived value is added to the one at `operand`. A transfer within the rank does both.
struct SlotAccess {
  std::int32_t slot = -1;
  Spot at = Spot::none;
  Spot operand = Spot::none;
  bool saves = false;       ///< the output must be saved before (it is an input in place, about to change)
  bool concurrent = false;  ///< an earlier receive of the same step adds into the slot, too

  bool touches(Spot spot) const { return at == spot || operand == spot; }
};

struct Slot {
  Chunk chunk;
  std::int32_t scratch = 0;  ///< which of the chunk's scratch slots; 0: the buffer's
  bool wanted = false;
  bool written = false;
  std::int32_t uses_a = 0;  ///< how many accesses touch the slot's scratch_a (scratch_b)
  std::int32_t uses_b = 0;
};

struct SlotTrace {
  std::vector<Slot> slots;           ///< the buffer's by chunk, then the first of scratch by chunk, and so on
  std::vector<SlotAccess> accesses;  ///< one for each transfer of the part; of one within the rank its write
  std::vector<SlotAccess> inner_reads;  ///< the slots that transfers within the rank read, in their order
  std::vector<std::int32_t>
      inner_read_of;  ///< by transfer: its entry there, or -1; empty where there are none
};

struct SlotOptions {
  bool in_place = false;     ///< a slot's input and output are the same bytes
  bool keep_inputs = false;  ///< in place, save overwritten elements
};

/// Throws ArgumentError, naming step and chunk, for transfers that cannot mean anything: a slot read or added into
/// before it holds a value, or copied into twice in a step.
SlotTrace trace_slots(const Collective& collective, const RankPart& part, const SlotOptions& options);

}  // namespace hemiola
