// An all-reduce in which nobody knows who is late: the first n-1 ranks to come reduce segment after segment among
// themselves, and the last one's arrival decides how all finish. See docs/decisions/0006-late-ranks.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hemiola/runtime/late/late_watch.hpp"
#include "hemiola/runtime/operation/late_programs.hpp"
#include "hemiola/runtime/operation/plain_operation.hpp"
#include "hemiola/runtime/operation/sparse_operation.hpp"

namespace hemiola {

/// Whether to look for a late rank at all is decided in the operation's turn.
struct LateQuestion {
  std::shared_ptr<const LateForecast> forecast;  ///< null: always look
  LateWatch* watch = nullptr;  ///< of the communicator; asked and told where there is a forecast
  std::int64_t bytes = 0;      ///< of the whole buffer
};

class LateAllReduce final : public Operation {
 public:
  /// `plain` is what runs where nobody is looked for, or nothing was reduced when the last rank came; `digest` is what
  /// is signed in place of its schedule's where one is looked for.
  /// `sparse`, or null, is run in place of `plain` where nobody is looked for; while it leaves zeros out nobody is.
  LateAllReduce(PlainOperation plain, std::shared_ptr<LatePrograms> programs, std::uint64_t digest,
                LateQuestion question, std::unique_ptr<SparseOperation> sparse);

  Signature signature() const override;
  void execute(const Stage& stage) override;
  void succeeded() override;
  bool wants_arrivals() const override { return question_.forecast != nullptr; }
  void note_arrivals(const ArrivalLog& log) override;

 private:
  /// The same on all ranks, because all have noted the same about the operations before.
  bool looks_for_late_rank() const { return !question_.forecast || question_.watch->pays(question_.bytes); }
  void reduce_while_waiting(const Stage& stage);
  void run(std::shared_ptr<const Program> program, const Stage& stage);

  PlainOperation plain_;
  std::shared_ptr<LatePrograms> programs_;
  std::uint64_t digest_;
  LateQuestion question_;
  std::unique_ptr<SparseOperation> sparse_;
  std::vector<std::shared_ptr<const Program>> ran_;  ///< an operation's programs must outlive it
};

}  // namespace hemiola
