#include "hemiola/runtime/operation/late_all_reduce.hpp"

#include <utility>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/runtime/late/late_entry.hpp"

namespace hemiola {

LateAllReduce::LateAllReduce(PlainOperation plain, std::shared_ptr<LatePrograms> programs,
                             std::uint64_t digest, LateQuestion question,
                             std::unique_ptr<SparseOperation> sparse)
    : plain_(std::move(plain)),
      programs_(std::move(programs)),
      digest_(digest),
      question_(std::move(question)),
      sparse_(std::move(sparse)) {}

Signature LateAllReduce::signature() const {
  Signature signature = plain_.signature();
  if (looks_for_late_rank()) signature.schedule_digest = digest_;
  return signature;
}

void LateAllReduce::execute(const Stage& stage) {
  if (looks_for_late_rank())
    reduce_while_waiting(stage);
  else if (sparse_)
    sparse_->execute(stage);
  else
    plain_.execute(stage);
}

/// Comes before anything is noted, so that what ran is what is asked.
void LateAllReduce::succeeded() {
  if (sparse_ && !looks_for_late_rank()) sparse_->succeeded();
}

void LateAllReduce::note_arrivals(const ArrivalLog& log) {
  if (!question_.forecast) return;
  const double lag_s = static_cast<double>(log.latest_last().lag_ns) * 1e-9;
  // The forecast is of messages that carry all.
  const bool sends_all = !sparse_ || sparse_->sends_all();
  question_.watch->note(question_.bytes, sends_all ? question_.forecast->gain(lag_s) : 0);
}

void LateAllReduce::reduce_while_waiting(const Stage& stage) {
  const LateRegister::Check check = [&] { stage.supervisor->check(); };
  LateEntry entry(stage.number, stage.self, stage.rank_count, programs_->segments());
  while (entry.phase() != LateEntry::Phase::settled) {
    if (entry.phase() == LateEntry::Phase::reducing) {
      run(programs_->reduction(entry.late(), entry.segment()), stage);
      entry.reduced_segment();
      continue;
    }
    if (entry.phase() == LateEntry::Phase::waiting)
      stage.late->await_arrivals(stage.number, stage.rank_count - 1, check);
    entry.step(stage.late, check);
  }
  if (entry.reduced() > 0)
    run(programs_->finish(entry.late(), entry.reduced()), stage);
  else
    plain_.execute(stage);
}

/// The programs of a late all-reduce work in place, one after the other.
void LateAllReduce::run(std::shared_ptr<const Program> program, const Stage& stage) {
  const Buffers& buffers = plain_.buffers();
  if (ran_.empty() && buffers.input != buffers.output)
    bulk_copy(buffers.output, buffers.input,
              static_cast<std::size_t>(program->bytes[static_cast<int>(Region::output)]));
  ran_.push_back(std::move(program));
  stage.executor->execute(*ran_.back(), {buffers.output, buffers.output}, plain_.arithmetic(),
                          stage.supervisor);
}

}  // namespace hemiola
