// SPDX-License-Identifier: Apache-2.0
// The part of one rank in one call, as it is signed and run. The communicator numbers operations, waits for all ranks, and
// cleans up after a failure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/adaptation/late_habits.hpp"
#include "hemiola/runtime/adaptation/late_watch.hpp"
#include "hemiola/runtime/adaptation/learner.hpp"
#include "hemiola/runtime/control/late_register.hpp"
#include "hemiola/runtime/control/signature.hpp"
#include "hemiola/runtime/executor/executor.hpp"

namespace hemiola {

/// The tools of an operation from its turn to its end.
struct Stage {
  std::uint64_t number = 0;
  Rank self{0};
  int rank_count = 1;
  Executor* executor = nullptr;
  LateRegister* late = nullptr;
  Supervisor* supervisor = nullptr;
};

struct Operation;

/// Runs an operation that takes more than its one program.
class Course {
 public:
  virtual ~Course() = default;

  /// Does this rank's part, and adds its own observations to the note. Throws as executor, register and supervisor do.
  /// After MismatchError the wire goes on with what has been posted, so buffers and programs must live as long as this.
  virtual void execute(const Operation& operation, const Stage& stage, Note* note) = 0;
};

struct Operation {
  Signature signature = {};                ///< equal on all ranks that do the same
  std::shared_ptr<const Program> program;  ///< null: it moves nothing, as a barrier
  Buffers buffers = {};
  Arithmetic arithmetic = {};
  std::unique_ptr<Course> course;  ///< null: the program alone
  // As of Note:
  std::shared_ptr<const LateForecast> forecast;
  std::optional<LateOutlook> outlook;
  bool sends_all = true;

  /// Whether all ranks have to hear when each of them has come, the same on all of them.
  bool wants_arrivals() const { return forecast || outlook; }
  void run_program(const Stage& stage) const {
    if (program) stage.executor->execute(*program, buffers, arithmetic, stage.supervisor);
  }
  void execute(const Stage& stage, Note* note) const {
    if (course)
      course->execute(*this, stage, note);
    else
      run_program(stage);
  }
};

}  // namespace hemiola
