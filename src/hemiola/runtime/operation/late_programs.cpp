// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/operation/late_programs.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/operation/late_entry.hpp"

namespace hemiola {
namespace {

constexpr int kFinish = -1;

/// The rank's transfers of the steps in [begin, end).
RankPart part_within(const Schedule& schedule, Rank rank, int begin, int end) {
  RankPart part = part_of(schedule, rank);
  std::erase_if(part.transfers, [&](const Transfer& t) { return t.step < begin || t.step >= end; });
  return part;
}

}  // namespace

void LateRule::check() const {
  if (!plain) throw ArgumentError("late all-reduce: expected a schedule for when nobody is late, found none");
  if (segments < 1 || segments > LateWord::kMaxSegments)
    throw ArgumentError("late all-reduce: expected segments in 1 … " +
                        std::to_string(LateWord::kMaxSegments) + ", found " + std::to_string(segments));
  if (segment_steps < (around.empty() ? 1 : 0))
    throw ArgumentError("late all-reduce: expected a step or more for a segment, found " +
                        std::to_string(segment_steps));
  if (!around.empty()) check_around();
  if (chunks_per_owner < 1 || chunks_per_owner > (1 << 12))
    throw ArgumentError("late all-reduce: expected chunks_per_owner in 1 … 4096, found " +
                        std::to_string(chunks_per_owner));
  if (forecast && (forecast->finish_s.size() != static_cast<std::size_t>(segments) + 1 ||
                   !(forecast->plain_s > 0) || !(forecast->segment_s > 0)))
    throw ArgumentError("late all-reduce: expected a forecast for each of 0 … " + std::to_string(segments) +
                        " segments, and times above 0");
}

void LateRule::check_around() const {
  const auto fits = [&](const auto& schedule) {
    return schedule && schedule->collective().kind() == CollectiveKind::all_reduce &&
           schedule->rank_count() == plain->rank_count();
  };
  if (std::ssize(around) != plain->rank_count() || !std::ranges::all_of(around, fits))
    throw ArgumentError("late all-reduce: expected an all-reduce of " + std::to_string(plain->rank_count()) +
                        " ranks around each of them, found " + std::to_string(around.size()) +
                        " schedules, or some of another kind");
  if (segments != 1 || segment_steps != 0)
    throw ArgumentError("late all-reduce: expected one segment where schedules are planned ahead, found " +
                        std::to_string(segments));
}

LatePrograms::LatePrograms(Rank self, int rank_count, const LateRule& rule, const CompileOptions& common)
    : self_(self), rank_count_(rank_count), rule_(rule), common_(common) {
  common_.in_place = true;
}

std::shared_ptr<const Program> LatePrograms::reduction(Rank late, int segment) {
  return rule_.segment_steps == 0 ? nullptr : get({late, segment, rule_.segments});
}

std::shared_ptr<const Program> LatePrograms::finish(Rank late, int reduced) {
  return get({late, kFinish, reduced});
}

std::shared_ptr<const Program> LatePrograms::get(const Key& key) {
  const auto found = programs_.find(key);
  if (found != programs_.end()) return found->second;
  auto program = std::make_shared<const Program>(make(key));
  if (tasks_ + program->tasks.size() > kMaxTasks) {
    programs_.clear();
    tasks_ = 0;
  }
  tasks_ += program->tasks.size();
  return programs_[key] = std::move(program);
}

Program LatePrograms::make(const Key& key) {
  const Schedule& whole = schedule(key.late, key.reduced);
  const int per_segment = rule_.segment_steps;
  const bool is_finish = key.segment == kFinish;
  const int begin = (is_finish ? key.reduced : key.segment) * per_segment;
  const int end = is_finish ? whole.step_count() : begin + per_segment;
  CompileOptions options = common_;
  options.average = common_.average && is_finish;
  return compile(whole.collective(), whole.chunk_weights(), part_within(whole, self_, begin, end), options);
}

const Schedule& LatePrograms::schedule(Rank late, int reduced) {
  if (!schedule_ || schedule_late_ != late || schedule_reduced_ != reduced)
    schedule_ = rule_.generate(rank_count_, late, rule_, reduced);
  schedule_late_ = late;
  schedule_reduced_ = reduced;
  return *schedule_;
}

}  // namespace hemiola
