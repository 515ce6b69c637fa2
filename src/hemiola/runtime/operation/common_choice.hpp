// SPDX-License-Identifier: Apache-2.0
// The common choice of a schedule that is left to the ranks. The first rank that asks chooses for all, by a recipe that
// every rank can follow. The others wait for the recipe. So ranks need not compute the same floats, and none waits for
// a rank that has not come to the call itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/adaptation/findings.hpp"
#include "hemiola/runtime/adaptation/late_habits.hpp"
#include "hemiola/runtime/control/control.hpp"
#include "hemiola/runtime/operation/late_programs.hpp"
#include "hemiola/runtime/operation/program_source.hpp"
#include "hemiola/runtime/operation/sparse_course.hpp"
#include "hemiola/runtime/session/members.hpp"
#include "hemiola/schedule/collective.hpp"

namespace hemiola {

/// The schedule to run.
struct Selection {
  ProgramSource source;
  /// For an all-reduce: how to find a late rank. With a forecast where that pays only.
  std::optional<LateRule> late;
  /// Where messages may leave zeros out: when they do. Nothing: where they may, they do.
  std::optional<SparseRule> sparse = {};
  /// For an all-reduce: that it is planned for whom the question expects to be late, or would be.
  std::optional<LateOutlook> outlook = {};
};

/// The conditions of a choice; sizes up to the same power of two share one.
struct Question {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t byte_count = 0;  ///< of the whole buffer, or of the larger of input and output
  Rank root{0};
  std::string algorithm;  ///< empty: any
  SparseMode sparse = SparseMode::no;
  Findings found = {};  ///< by which it is planned
};

/// Makes choices in words, for sizes up to the question's, and follows words, for the question's very size. Both throw
/// ArgumentError where there is nothing to run.
struct Chooser {
  std::function<Bytes(const Question&)> decide;
  std::function<Selection(const Bytes& recipe, const Question&)> follow;
};

class CommonChoice {
 public:
  /// How long a rank leaves a new question to the one that has chosen last.
  static constexpr double kAdvance_s = 0.0003;

  /// Both outlive this.
  CommonChoice(const Members* members, const Control* control, double advance_s = kAdvance_s)
      : members_(members), control_(control), advance_s_(advance_s) {}

  /// Called while waiting; throws to abort.
  using Check = std::function<void()>;

  /// The recipe in force for a question, asked in an epoch of the slow ports (see ChoiceKey); calls `decide` on the
  /// rank that asks first. Nothing: the epoch is over, so ask again with the newer findings. Throws an ArgumentError if
  /// the choosing rank found nothing to run, a LostRankError if it has died, and a BadMessageError for an impossible
  /// answer. Throws a TimeoutError after `timeout_s`, which names it and all that show no sign of life.
  std::optional<Bytes> recipe(const Question& question, const Chooser& chooser, double timeout_s,
                              const Check& check);
  /// The rank that chose the recipe.
  Rank chooser() const { return last_chooser_.value_or(members_->self); }

 private:
  void let_the_last_chooser_go_first(const ChoiceKey& key) const;
  Bytes decide(const Question& question, const ChoiceKey& key, const Chooser& chooser);
  std::optional<Bytes> await_decision(const ChoiceKey& key, const Deadline& deadline, const Check& check);
  void check_claimer(Rank claimer) const;
  [[noreturn]] void give_up_on(Rank claimer, double waited_s) const;

  const Members* members_;
  const Control* control_;
  double advance_s_;
  std::optional<Rank> last_chooser_;
};

}  // namespace hemiola
