// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/operation/late_course.hpp"

#include <utility>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/runtime/operation/late_entry.hpp"

namespace hemiola {

void LateCourse::execute(const Operation& operation, const Stage& stage, Note*) {
  const LateRegister::Check check = [&] { stage.supervisor->check(); };
  LateEntry entry(stage.number, stage.self, stage.rank_count, programs_->segments());
  while (entry.phase() != LateEntry::Phase::settled) {
    if (entry.phase() == LateEntry::Phase::reducing) {
      if (auto reduction = programs_->reduction(entry.late(), entry.segment()))
        run(std::move(reduction), operation, stage);
      entry.reduced_segment();
      continue;
    }
    if (entry.phase() == LateEntry::Phase::waiting)
      stage.late->await_arrivals(stage.number, stage.rank_count - 1, check);
    entry.step(stage.late, check);
  }
  if (entry.reduced() > 0)
    run(programs_->finish(entry.late(), entry.reduced()), operation, stage);
  else
    operation.run_program(stage);
}

/// The programs of a late all-reduce work in place, one after the other.
void LateCourse::run(std::shared_ptr<const Program> program, const Operation& operation, const Stage& stage) {
  const Buffers& buffers = operation.buffers;
  if (ran_.empty() && buffers.input != buffers.output)
    bulk_copy(buffers.output, buffers.input,
              static_cast<std::size_t>(program->bytes[static_cast<int>(Region::output)]));
  ran_.push_back(std::move(program));
  stage.executor->execute(*ran_.back(), {buffers.output, buffers.output}, operation.arithmetic,
                          stage.supervisor);
}

}  // namespace hemiola
