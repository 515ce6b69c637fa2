// SPDX-License-Identifier: Apache-2.0
#include "hemiola/verify/chunk_judge.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "hemiola/base/interrupt.hpp"

namespace hemiola {
namespace {

/// "rank 3", "ranks 1, 2, 5", "ranks 0, 1, 2, 3, 4, 5, … (17 of 32)"
std::string list_ranks(const std::vector<Rank>& ranks, std::size_t of) {
  constexpr std::size_t kShown = 6;
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(kShown, ranks.size()); ++i)
    list += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > kShown)
    list += ", … (" + std::to_string(ranks.size()) + " of " + std::to_string(of) + ")";
  return list;
}

std::vector<Rank> all_but(std::span<const Rank> ranks, Rank one) {
  std::vector<Rank> others(ranks.begin(), ranks.end());
  std::erase(others, one);
  return others;
}

/// When the slot that is read too early is filled, if ever.
std::string first_arrival(std::span<const ChunkTransfer> transfers, Rank rank, Step step) {
  for (const ChunkTransfer& t : transfers) {
    if (t.dst() != rank || t.step() < step) continue;
    const std::string arrival = "which it first receives in step " + std::to_string(t.step());
    return t.step() == step ? arrival + "; a step reads before it writes" : arrival;
  }
  return "which it does not hold and never receives";
}

}  // namespace

ChunkJudge::ChunkJudge(const Collective& collective, int scratch_count, int step_count, bool report_redundant,
                       Report* report)
    : collective_(collective),
      places_(collective),
      step_count_(step_count),
      report_redundant_(report_redundant),
      report_(*report),
      slots_(static_cast<std::size_t>(collective.rank_count()) *
             (static_cast<std::size_t>(scratch_count) + 1)),
      sums_(collective.rank_count()) {}

void ChunkJudge::say(Rule rule, Step step, Rank rank, const auto& compose) {
  if (report_.admits(rule, step, rank, chunk_)) report_.add({rule, step, rank, chunk_, compose()});
}

/// "rank 3", "scratch slot 2 of rank 3"
std::string ChunkJudge::name_of_slot(Rank number) const {
  const int scratch = number / collective_.rank_count();
  return (scratch == 0 ? "" : "scratch slot " + std::to_string(scratch) + " of ") + "rank " +
         std::to_string(rank_of(number));
}

void ChunkJudge::judge(Chunk chunk, std::span<const ChunkTransfer> transfers) {
  // A file of a few bytes can have a million chunks that nobody sends to a million ranks.
  if (report_.is_full_before(transfers.empty() ? Step{step_count_} : transfers.front().step(), chunk)) return;
  chunk_ = chunk;
  transfers_ = transfers;
  open();
  for (std::size_t begin = 0, end = 0; begin < transfers.size(); begin = end) {
    while (end < transfers.size() && transfers[end].step() == transfers[begin].step()) ++end;
    run_step(begin, end);
  }
  close();
}

void ChunkJudge::open() {
  heed_interrupt(static_cast<std::int64_t>(places_.defined(chunk_).size() + transfers_.size()));
  sums_.clear();
  for (Rank rank : places_.defined(chunk_))
    slot(rank).holds = collective_.is_reducing() ? sums_.own(rank) : 0;
}

/// All reads of a step come before all writes.
void ChunkJudge::run_step(std::size_t begin, std::size_t end) {
  if (end - begin == 1) return deliver(begin, read(begin));
  read_.clear();
  for (std::size_t i = begin; i < end; ++i) read_.push_back(read(i));
  for (std::size_t i = begin; i < end; ++i) {
    note_conflict(transfers_[i]);
    deliver(i, read_[i - begin]);
  }
}

Sums::Id ChunkJudge::read(std::size_t index) {
  const ChunkTransfer& t = transfers_[index];
  Slot& from = slot(t.src());
  from.unread = kNone;
  if (from.holds == Sums::kNothing)
    say(Rule::read_before_defined, t.step(), rank_of(t.src()), [&] {
      return "step " + std::to_string(t.step()) + ": " + name_of_slot(t.src()) + " sends chunk " +
             std::to_string(chunk_) + " to " + name_of_slot(t.dst()) + ", " +
             first_arrival(transfers_, t.src(), t.step());
    });
  return from.holds;
}

void ChunkJudge::note_conflict(const ChunkTransfer& t) {
  Slot& to = slot(t.dst());
  const auto conflict = [&](Rule rule, const char* what) {
    say(rule, t.step(), rank_of(t.dst()), [&] {
      return "step " + std::to_string(t.step()) + ": " + what + " write chunk " + std::to_string(chunk_) +
             " of " + name_of_slot(t.dst()) + ", one of them from " + name_of_slot(t.src()) +
             "; a slot takes one copy or any number of reduces in a step";
    });
  };
  if (!t.reduce() && to.copied_at == t.step()) conflict(Rule::copy_conflict, "two copies");
  if ((t.reduce() ? to.copied_at : to.reduced_at) == t.step())
    conflict(Rule::copy_reduce_conflict, "a copy and a reduce");
  (t.reduce() ? to.reduced_at : to.copied_at) = t.step();
}

void ChunkJudge::deliver(std::size_t index, Sums::Id value) {
  const ChunkTransfer& t = transfers_[index];
  if (t.reduce() && collective_.is_reducing()) return deliver_reduce(index, value);
  if (t.reduce())
    say(Rule::reduce_not_allowed, t.step(), rank_of(t.dst()), [&] {
      return "step " + std::to_string(t.step()) + ": " + name_of_slot(t.src()) + " reduces chunk " +
             std::to_string(chunk_) + " into " + name_of_slot(t.dst()) + ", but a " +
             std::string(name_of(collective_.kind())) + " only copies";
    });
  deliver_copy(index, value);
}

void ChunkJudge::deliver_copy(std::size_t index, Sums::Id value) {
  const ChunkTransfer& t = transfers_[index];
  Slot& to = slot(t.dst());
  if (report_redundant_ && value != Sums::kNothing && to.holds == value)
    say(Rule::redundant, t.step(), rank_of(t.dst()), [&] {
      return "step " + std::to_string(t.step()) + ": " + name_of_slot(t.dst()) + " receives chunk " +
             std::to_string(chunk_) + " from " + name_of_slot(t.src()) + ", but it holds the same already";
    });
  if (to.unread != kNone) report_leftover(to.unread);
  to.holds = value;
  to.unread = static_cast<std::int32_t>(index);
}

void ChunkJudge::deliver_reduce(std::size_t index, Sums::Id value) {
  const ChunkTransfer& t = transfers_[index];
  Slot& to = slot(t.dst());
  if (to.holds == Sums::kNothing) {
    say(Rule::reduce_into_undefined, t.step(), rank_of(t.dst()), [&] {
      return "step " + std::to_string(t.step()) + ": " + name_of_slot(t.src()) + " reduces chunk " +
             std::to_string(chunk_) + " into " + name_of_slot(t.dst()) +
             ", whose slot holds nothing to add to; copy it, or deliver a value first";
    });
    to.holds = value;
  } else if (value != Sums::kNothing) {
    to.holds = sums_.add(to.holds, value, static_cast<std::int32_t>(index));
  }
  to.unread = static_cast<std::int32_t>(index);
}

void ChunkJudge::report_leftover(std::int32_t delivery) {
  const ChunkTransfer& t = transfers_[static_cast<std::size_t>(delivery)];
  if (is_wanted(t.dst())) return;
  say(Rule::leftover, t.step(), rank_of(t.dst()), [&] {
    return "step " + std::to_string(t.step()) + ": " + name_of_slot(t.dst()) + " receives chunk " +
           std::to_string(chunk_) + " from " + name_of_slot(t.src()) +
           ", but does not want it in the end and never passes it on";
  });
}

void ChunkJudge::close() {
  for (Rank rank : places_.wanted(chunk_))
    if (slot(rank).holds == Sums::kNothing)
      say(Rule::missing_chunk, Step{step_count_}, rank, [&] {
        return "in the end: rank " + std::to_string(rank) + " wants chunk " + std::to_string(chunk_) +
               " but holds nothing";
      });
  if (collective_.is_reducing()) close_sums();
  for (const ChunkTransfer& t : transfers_) {
    if (slot(t.dst()).unread != kNone) report_leftover(slot(t.dst()).unread);
    slot(t.dst()) = Slot{};
  }
  for (Rank rank : places_.defined(chunk_)) slot(rank) = Slot{};
}

/// `missing` returns the ranks whose contributions are not there.
void ChunkJudge::say_missing(Rank rank, const auto& missing) {
  say(Rule::missing_contribution, Step{step_count_}, rank, [&] {
    return "in the end: rank " + std::to_string(rank) + "'s chunk " + std::to_string(chunk_) +
           " lacks the contribution of " + list_ranks(missing(), places_.defined(chunk_).size());
  });
}

/// A rank that was left with its own contribution lacks those of all others, which needs no proof.
void ChunkJudge::close_sums() {
  const std::span<const Rank> contributors = places_.defined(chunk_);
  results_.clear();
  holders_.clear();
  for (Rank rank : places_.wanted(chunk_)) {
    const Sums::Id held = slot(rank).holds;
    if (held == Sums::kNothing) continue;
    if (sums_.is_own(held) && contributors.size() > 1) {
      say_missing(rank, [&] { return all_but(contributors, Rank{held}); });
      continue;
    }
    results_.push_back(held);
    holders_.emplace_back(held, rank);
  }
  std::sort(holders_.begin(), holders_.end());
  std::sort(results_.begin(), results_.end());
  results_.erase(std::unique(results_.begin(), results_.end()), results_.end());
  constexpr std::size_t kBatch = 64;
  for (std::size_t begin = 0; begin < results_.size(); begin += kBatch) {
    const auto batch = std::span(results_).subspan(begin, std::min(kBatch, results_.size() - begin));
    heed_interrupt(sums_.size());
    const std::uint64_t faults = sums_.faulty(batch, contributors);
    if (faults != 0) report_batch(batch, faults);
  }
}

void ChunkJudge::report_batch(std::span<const Sums::Id> results, std::uint64_t faults) {
  for (; faults != 0; faults &= faults - 1) {
    const int lane = std::countr_zero(faults);
    heed_interrupt(sums_.size());
    const Sums::Flaw flaw = sums_.flaw_of(lane, places_.defined(chunk_));
    if (!flaw.missing.empty()) report_missing(flaw, results[static_cast<std::size_t>(lane)]);
    if (!flaw.twice.empty()) report_twice(flaw);
  }
}

void ChunkJudge::report_missing(const Sums::Flaw& flaw, Sums::Id result) {
  for (auto holder = std::lower_bound(holders_.begin(), holders_.end(), std::pair(result, Rank{0}));
       holder != holders_.end() && holder->first == result; ++holder)
    say_missing(holder->second, [&] { return flaw.missing; });
}

void ChunkJudge::report_twice(const Sums::Flaw& flaw) {
  const ChunkTransfer& t = transfers_[static_cast<std::size_t>(flaw.tag)];
  say(Rule::counted_twice, t.step(), rank_of(t.dst()), [&] {
    return "step " + std::to_string(t.step()) + ": " + name_of_slot(t.src()) + " reduces chunk " +
           std::to_string(chunk_) + " into " + name_of_slot(t.dst()) +
           ", which already holds the contribution of " +
           list_ranks(flaw.twice, places_.defined(chunk_).size());
  });
}

}  // namespace hemiola
