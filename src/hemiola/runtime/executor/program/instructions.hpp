// SPDX-License-Identifier: Apache-2.0
// One rank's part of a schedule as a straight list of instructions, for executors that launch work ahead and cannot
// look at it: a device's queue runs them in their order, and asks nobody. A Program, in contrast, names the
// dependencies of each task, so that the host's engine can run them as messages come.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/runtime/executor/program/program.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

enum class InstructionKind : std::uint8_t {
  copy,     ///< `bytes` of `from` to `to`
  send,     ///< `bytes` of `from` to `peer`
  receive,  ///< `bytes` from `peer` to `to`
  combine,  ///< the elements at `operand`, and then `from`, into `to`
  scale,    ///< ends an average at `to`
};

/// Messages that follow one another and have the same step are a group: all of them start together, and the
/// instruction behind the group starts when the last one has ended.
struct Instruction {
  InstructionKind kind;
  std::int32_t step = -1;  ///< of a message
  Rank peer = Rank{-1};    ///< of a message
  Place from = {};
  Place operand = {};
  Place to = {};
  std::int64_t bytes = 0;

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct InstructionOptions {
  std::int64_t block_elements = 0;  ///< see BufferLayout
  int element_bytes = 1;
  bool in_place = false;  ///< output and input are the same bytes where a chunk lies in both
  bool average = false;
};

struct InstructionList {
  std::vector<Instruction> instructions;
  std::int64_t bytes[kRegionCount] = {};  ///< the size of each region
};

/// The ends of every message are in the groups of the same step on both ranks, and in the same order among the messages
/// of their pair, so that groups that start in order cannot wait for each other in a circle. Chunks are not cut.
/// Additions are in the host's order, so results have its bits. Throws the errors of `compile`.
InstructionList instructions_of(const Schedule& schedule, Rank rank, const InstructionOptions& options);

}  // namespace hemiola
