// SPDX-License-Identifier: Apache-2.0
// An all-reduce whose late rank is not known beforehand: the first n-1 ranks to come reduce segment after segment among
// themselves, and the last one's arrival decides how all finish. See docs/decisions/0006-late-ranks.md.
#pragma once

#include <memory>
#include <vector>

#include "hemiola/runtime/operation/late_programs.hpp"
#include "hemiola/runtime/operation/operation.hpp"

namespace hemiola {

/// The operation's own program runs where nothing was reduced when the last rank came.
class LateCourse final : public Course {
 public:
  explicit LateCourse(std::shared_ptr<LatePrograms> programs) : programs_(std::move(programs)) {}

  void execute(const Operation& operation, const Stage& stage, Note* note) override;

 private:
  void run(std::shared_ptr<const Program> program, const Operation& operation, const Stage& stage);

  std::shared_ptr<LatePrograms> programs_;
  std::vector<std::shared_ptr<const Program>> ran_;  ///< an operation's programs must outlive it
};

}  // namespace hemiola
