// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/operation/common_choice.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/operation/silence.hpp"
#include "hemiola/runtime/operation/surrender.hpp"

namespace hemiola {
namespace {

/// A waiting rank looks so often for an answer, and for signs that there will be one. It looks ever less often, because
/// the choosing rank needs the core.
constexpr auto kFirstNap = std::chrono::microseconds(50);
constexpr auto kLongestNap = std::chrono::microseconds(800);
constexpr double kGlance_s = 0.005;

/// The begin of an answer.
enum class Answer : std::uint8_t { recipe, failure };

bool is_sound(const Bytes& answer) {
  return !answer.empty() && std::to_integer<std::uint8_t>(answer.front()) <= std::uint8_t{1};
}

Bytes answer(Answer kind, std::span<const std::byte> content) {
  Bytes bytes(1 + content.size());
  bytes.front() = std::byte{static_cast<std::uint8_t>(kind)};
  std::ranges::copy(content, bytes.begin() + 1);
  return bytes;
}

Bytes failure(std::string_view text) {
  return answer(Answer::failure,
                std::as_bytes(std::span(text).first(std::min(text.size(), Choices::kSmallBytes - 1))));
}

Bytes recipe_of(const Bytes& bytes) {
  const auto content = std::span(bytes).subspan(1);
  if (bytes.front() == std::byte{static_cast<std::uint8_t>(Answer::failure)})
    throw ArgumentError(std::string(reinterpret_cast<const char*>(content.data()), content.size()));
  return {content.begin(), content.end()};
}

ChoiceKey key_of(const Question& question) {
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(question.kind));
  hasher.add(static_cast<std::uint64_t>(question.byte_count));
  hasher.add(static_cast<std::uint64_t>(question.root));
  hasher.add_bytes(std::as_bytes(std::span(question.algorithm)));
  hasher.add(static_cast<std::uint64_t>(question.sparse));
  hasher.add(static_cast<std::uint64_t>(question.found.late.rank));
  hasher.add(static_cast<std::uint64_t>(question.found.late.quarters));
  hasher.add(static_cast<std::uint64_t>(question.found.late.moves));
  for (const auto& [rank, factor] : question.found.ports.slow) {
    hasher.add(static_cast<std::uint64_t>(rank));
    hasher.add(std::bit_cast<std::uint64_t>(factor));
  }
  const Hash128 digest = hasher.finish();
  return {question.found.ports.version, digest};
}

}  // namespace

std::optional<Bytes> CommonChoice::recipe(const Question& question, const Chooser& chooser, double timeout_s,
                                          const Check& check) try {
  Question shared = question;
  shared.byte_count =
      question.byte_count == 0
          ? 0
          : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(question.byte_count)));
  const ChoiceKey key = key_of(shared);
  let_the_last_chooser_go_first(key);
  if (control_->choices->claim(key)) {
    last_chooser_ = members_->self;
    return decide(shared, key, chooser);
  }
  return await_decision(key, Deadline(timeout_s), check);
} catch (const BadMessageError& e) {
  throw members_->named(e);
}

/// A planner takes half the time where it has run before, so the rank that chose last gets a moment's start.
void CommonChoice::let_the_last_chooser_go_first(const ChoiceKey& key) const {
  if (!last_chooser_ || *last_chooser_ == members_->self) return;
  const Deadline start(advance_s_);
  while (!start.passed() && control_->choices->look(key).state == Choices::Answer::State::open)
    std::this_thread::sleep_for(kFirstNap);
}

/// The others are told in any case, since they wait.
Bytes CommonChoice::decide(const Question& question, const ChoiceKey& key, const Chooser& chooser) {
  const std::string who = members_->name(members_->self);
  try {
    Bytes recipe = chooser.decide(question);
    control_->choices->decide(key, answer(Answer::recipe, recipe));
    return recipe;
  } catch (const ArgumentError& e) {
    control_->choices->decide(key, failure(e.what()));
    throw;
  } catch (const std::exception& e) {
    control_->choices->decide(key, failure(who + " could not choose a schedule: " + e.what()));
    throw;
  } catch (...) {
    control_->choices->decide(key, failure(who + " was interrupted while it chose a schedule"));
    throw;
  }
}

/// Beats, since a rank that gives up waiting names those that do not.
std::optional<Bytes> CommonChoice::await_decision(const ChoiceKey& key, const Deadline& deadline,
                                                  const Check& check) {
  using State = Choices::Answer::State;
  Deadline glance(kGlance_s);
  control_->pulse->beat();
  for (auto nap = kFirstNap;; nap = std::min(2 * nap, kLongestNap)) {
    const Choices::Answer choice = control_->choices->look(key);
    if (choice.state == State::outdated) return std::nullopt;
    if (choice.state == State::decided) {
      if (!is_sound(choice.bytes))
        throw BadMessageError(choice.claimer, "an answer that is none to a question about schedules");
      last_chooser_ = choice.claimer;
      return recipe_of(choice.bytes);
    }
    if (glance.passed()) {
      control_->pulse->beat();
      if (check) check();
      check_claimer(choice.claimer);
      if (deadline.passed()) give_up_on(choice.claimer, deadline.seconds());
      glance = Deadline(kGlance_s);
    }
    std::this_thread::sleep_for(nap);
  }
}

/// Lost ranks are looked up first: a rank that leaves gives its reason before, and is not to be blamed for leaving.
void CommonChoice::check_claimer(Rank claimer) const {
  const std::vector<LostRank> lost = members_->session->lost();
  for (const Pulse::GivenUp& given_up : control_->pulse->given_up()) {
    if (given_up.failure != Failure::closed || given_up.rank == claimer) throw_surrender(given_up, *members_);
  }
  for (const LostRank& one : lost)
    if (one.rank == members_->world_rank(claimer))
      members_->throw_for(one.cause(), members_->name(claimer) + " was choosing a schedule for all: " +
                                           members_->described(one.cause()));
}

/// The choosing rank shows no signs meanwhile, and may merely be slow. Another rank without a sign is missing, too, and
/// is to blame.
void CommonChoice::give_up_on(Rank claimer, double waited_s) const {
  std::vector<Rank> missing;
  for (Rank rank : indices<Rank>(members_->count()))
    if (rank != claimer && rank != members_->self &&
        is_silent(*members_, control_->pulse->last_sign_ns(rank), waited_s))
      missing.push_back(rank);
  const std::string in_time = " within " + format_seconds(waited_s);
  const Rank blamed = missing.empty() ? claimer : missing.front();
  Cause cause = members_->cause(
      blamed,
      missing.empty()
          ? "came first to a call that leaves the schedule to the planner, and has not chosen one" + in_time
          : "has not arrived" + in_time + ", or stands still");
  cause.is_absence = true;
  std::string text = members_->described(cause);
  for (std::size_t i = 1; i < missing.size(); ++i) text += "; neither has " + members_->name(missing[i]);
  if (!missing.empty())
    text += "; " + members_->name(claimer) + " has not chosen a schedule either, to which it came first";
  throw AbsentMemberError(text, cause);
}

}  // namespace hemiola
