// SPDX-License-Identifier: Apache-2.0
// Runs one rank's programs on buffers: on the host's cores (`host/`), or a device beside them. Programs are plain data,
// the same for every executor. An executor knows no schedule and no particular wire.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "hemiola/base/dtype.hpp"
#include "hemiola/codec/costs.hpp"
#include "hemiola/runtime/executor/program/program.hpp"
#include "hemiola/runtime/executor/sent_forms.hpp"
#include "hemiola/runtime/executor/supervisor.hpp"

namespace hemiola {

/// The memory of each block of a buffer; null: they lie one behind the other.
using BlockMemory = std::shared_ptr<const std::vector<std::byte*>>;

/// Of an all-reduce whose messages have eight bits an element: the rounding errors that this rank adds next time.
struct Rounding {
  float* rest = nullptr;  ///< by element of the buffer
  /// By rank: whether sums on their way there are rounded; null: all are. Results are everywhere.
  std::shared_ptr<const std::vector<bool>> to = {};
};

/// The user's memory. In place, the two overlap where a chunk lies in both; never where one is in blocks.
struct Buffers {
  const std::byte* input = nullptr;  ///< the first block's, where it is in blocks
  std::byte* output = nullptr;
  std::optional<int> device = {};  ///< in whose memory they are; nothing: the host's
  BlockMemory input_blocks = {};
  BlockMemory output_blocks = {};
  Rounding rounding = {};

  InBlocks in_blocks() const { return {input_blocks != nullptr, output_blocks != nullptr}; }
};

/// The meaning of combining and scaling for the elements of a buffer. A `premul_sum`'s programs are not compiled in
/// place: they read multiplied memory of the executor's, also if the user's input and output are the same.
struct Arithmetic {
  DType dtype = DType::uint8;
  Op op = Op::sum;
  int divisor = 1;    ///< of an average
  double factor = 1;  ///< of a premul_sum: the factor of this rank's input
};

/// Runs programs one after the other; used by one thread at a time.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Begins an operation: one program, or several that work in the same buffers one after the other.
  virtual void begin_operation() = 0;

  /// Blocks until this rank's part is done: every result is in place and no sent byte is needed any more. When it
  /// throws, messages may still be posted: reset the wire, then `restore`. Programs must outlive their operation.
  /// Throws ArgumentError, before anything has moved, for buffers in memory that it cannot work in; and the errors of
  /// the supervisor and the wire.
  virtual void execute(const Program& program, const Buffers& buffers, const Arithmetic& arithmetic,
                       Supervisor* supervisor) = 0;

  /// The costs of messages of the operation's coded programs, by which their formats are chosen; without it the
  /// smallest.
  virtual void choose_formats_by(const codec::CostsOfUse& costs) = 0;

  /// A bit that messages bring from now on to all ranks that depend on them. At the end of an operation in which
  /// everybody depends on everybody all ranks have it, or none has. False where messages bear none: then nobody ever
  /// has it.
  virtual bool carries_hints() const { return false; }
  virtual void spread_hint() {}
  virtual bool has_hint() const { return false; }

  /// Since it was made.
  virtual SentForms sent_forms() const { return {}; }

  /// Undoes the operation so far: puts inputs that were overwritten in place back as they were.
  virtual void restore() = 0;
};

}  // namespace hemiola
