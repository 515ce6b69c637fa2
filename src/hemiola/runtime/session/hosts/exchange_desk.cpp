// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/exchange_desk.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/absence.hpp"
#include "hemiola/runtime/session/hosts/packing.hpp"
#include "hemiola/runtime/session/hosts/topics.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

/// A waiting rank asks so often for the members that are there, and looks at the deadline.
constexpr auto kBetweenQuestions = std::chrono::milliseconds(100);
constexpr auto kAnswerGlance = std::chrono::milliseconds(5);
/// How long a question may be on its way when the deadline has passed.
constexpr auto kLastExchangeAnswer = std::chrono::milliseconds(500);

/// Asked when time is up: how often there had been an answer before, and how long to wait for one.
struct LastQuestion {
  std::uint64_t told;
  Deadline::Clock::time_point until;
};

std::string name_of(Rank rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

ExchangeDesk::ExchangeDesk(Courier* courier, Rank self, Facts facts)
    : courier_(courier), self_(self), facts_(std::move(facts)) {
  using Content = std::span<const std::byte>;
  const auto listen = [&](Topic topic, Courier::Handler handler) {
    subscriptions_.push_back(courier_->subscribe(topic, std::move(handler)));
  };
  listen(kBringing, [this](Rank from, Content content) { hear_bringing(from, content); });
  listen(kQuestion, [this](Rank from, Content content) { hear_question(from, content); });
  listen(kOutcome, [this](Rank from, Content content) { hear_outcome(from, content); });
  listen(kPresence, [this](Rank, Content content) { hear_presence(content); });
}

ExchangeDesk::Name ExchangeDesk::named(const std::vector<Rank>& members, std::uint64_t round) {
  Hasher hasher;
  hasher.add_bytes(std::as_bytes(std::span(members)));
  const Hash128 digest = hasher.finish();
  return {digest.high, digest.low, round};
}

// ---- the first member ----

void ExchangeDesk::hear_bringing(Rank from, std::span<const std::byte> message) {
  Unpacker content(message);
  const Name name = content.get<Name>();
  const std::vector<Rank> members = content.get_members();
  if (members.front() != self_ || !std::ranges::binary_search(members, from) ||
      name != named(members, name.round))
    throw FormatError("an exchange of " + std::to_string(members.size()) +
                      " members that is not its sender's");
  Gathering& gathering = gatherings_[name];
  std::string key = content.get_text();
  gathering.try_emplace(from, Brought{std::move(key), content.get_bytes()});
  if (gathering.size() < members.size()) return;
  conclude(name, members, gathering);
  gatherings_.erase(name);
}

void ExchangeDesk::conclude(const Name& name, const std::vector<Rank>& members, const Gathering& gathering) {
  Packer outcome;
  std::string mismatch;
  const auto& [first, brought] = *gathering.begin();
  for (const auto& [rank, other] : gathering)
    if (other.key != brought.key && mismatch.empty())
      mismatch = name_of(rank) + " exchanges '" + other.key + "', " + name_of(first) + " '" + brought.key +
                 "'; all must exchange the same things in the same order";
  outcome.put(name).put_text(mismatch);
  if (mismatch.empty())
    for (const auto& [rank, other] : gathering) outcome.put_bytes(other.bytes);
  const Bytes message = outcome.take();
  for (Rank member : members) courier_->send(member, kOutcome, message);
}

/// Lists the members that have come, those that will not with the reasons, and this rank's other complaints.
void ExchangeDesk::hear_question(Rank from, std::span<const std::byte> message) {
  const Name name = Unpacker(message).get<Name>();
  std::vector<Rank> present;
  if (const auto found = gatherings_.find(name); found != gatherings_.end())
    for (const auto& [rank, brought] : found->second) present.push_back(rank);
  Packer answer;
  answer.put(name).put_ranks(present);
  std::string complaints;
  for (const std::string& complaint : facts_.complaints()) complaints += "; " + complaint;
  answer.put_text(complaints);
  for (const LostRank& lost : facts_.lost()) answer.put(lost.rank).put(CauseRecord::of(lost.cause()));
  courier_->send(from, kPresence, answer.take());
}

// ---- a member ----

std::vector<Bytes> ExchangeDesk::exchange(const std::vector<Rank>& members, std::string_view key,
                                          std::span<const std::byte> own, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const Name of_members = named(members, 0);
  std::uint64_t& round = rounds_[{of_members.members_high, of_members.members_low}];
  const Name name = named(members, round);
  if (outcomes_.try_emplace(name).second)
    courier_->send(members.front(), kBringing,
                   Packer().put(name).put_ranks(members).put_text(key).put_bytes(own).take());
  Outcome& outcome = outcomes_.at(name);
  outcome.first = members.front();
  outcome.member_count = members.size();
  auto next_question = Deadline::Clock::now() + kBetweenQuestions;
  std::optional<LastQuestion> last;
  while (!outcome.is_over) {
    changed_.wait_for(lock, kAnswerGlance);
    if (outcome.is_over) break;
    lock.unlock();
    deadline.check();
    lock.lock();
    try {
      check_lost(members, outcome);
    } catch (const LostMemberError&) {
      outcomes_.erase(name);  // nobody comes again
      throw;
    }
    const auto now = Deadline::Clock::now();
    if (last && (outcome.told > last->told || now > last->until))
      throw_absent(members, key, outcome, deadline);
    if (last || (now < next_question && !deadline.passed())) continue;
    if (deadline.passed()) last = LastQuestion{outcome.told, now + kLastExchangeAnswer};
    next_question = now + kBetweenQuestions;
    ask(name, members);
  }
  ++round;
  const Outcome found = std::move(outcomes_.extract(name).mapped());
  if (!found.mismatch.empty()) throw MismatchError(found.mismatch);
  return found.all;
}

void ExchangeDesk::ask(const Name& name, const std::vector<Rank>& members) {
  courier_->send(members.front(), kQuestion, Packer().put(name).take());
}

void ExchangeDesk::hear_outcome(Rank from, std::span<const std::byte> message) {
  Unpacker content(message);
  const Name name = content.get<Name>();
  std::string mismatch = content.get_text();
  std::vector<Bytes> all;
  while (!content.is_empty()) all.push_back(content.get_bytes());
  const std::lock_guard lock(mutex_);
  const auto found = outcomes_.find(name);
  if (found == outcomes_.end()) return;
  Outcome& outcome = found->second;
  if (from != outcome.first || (mismatch.empty() && all.size() != outcome.member_count))
    throw FormatError("an exchange's outcome of " + std::to_string(all.size()) + " parts for " +
                      std::to_string(outcome.member_count) + " members of which " + name_of(outcome.first) +
                      " is the first");
  outcome.mismatch = std::move(mismatch);
  outcome.all = std::move(all);
  outcome.is_over = true;
  changed_.notify_all();
}

void ExchangeDesk::hear_presence(std::span<const std::byte> message) {
  Unpacker content(message);
  const Name name = content.get<Name>();
  const std::lock_guard lock(mutex_);
  const auto found = outcomes_.find(name);
  if (found == outcomes_.end()) return;
  found->second.present = content.get_ranks();
  found->second.complaints = content.get_text();
  found->second.lost.clear();
  while (!content.is_empty()) {
    const Rank rank = content.get<Rank>();
    found->second.lost.emplace_back(rank, content.get<CauseRecord>().cause());
  }
  ++found->second.told;
}

/// The first member knows the members that came before it was lost; without it, nobody will know. The earliest cause is
/// named: others may have left over it.
void ExchangeDesk::check_lost(const std::vector<Rank>& members, const Outcome& outcome) const {
  std::vector<std::pair<Rank, Cause>> lost = outcome.lost;
  const std::vector<LostRank> known = facts_.lost();
  if (is_among(members.front(), known))
    for (const LostRank& one : known) lost.emplace_back(one.rank, one.cause());
  std::optional<Cause> first;
  for (const auto& [rank, cause] : lost) {
    const bool is_member = std::ranges::binary_search(members, rank);
    const bool has_come = std::ranges::find(outcome.present, rank) != outcome.present.end();
    const bool counts = is_member && (!has_come || rank == members.front());
    if (counts && (!first || cause.precedes(*first))) first = cause;
  }
  if (!first) return;
  const auto member = std::ranges::lower_bound(members, first->rank);
  const bool is_member = member != members.end() && *member == first->rank;
  throw_for(*first, is_member ? Rank{member - members.begin()} : Cause::kNobody,
            first->text() + (first->is_absence ? "" : ", and others wait for it"));
}

/// Where nothing was heard of the first member, it is that which did not come.
void ExchangeDesk::throw_absent(const std::vector<Rank>& members, std::string_view key,
                                const Outcome& outcome, const Deadline& deadline) const {
  std::vector<Rank> absent;
  for (Rank member : members)
    if (std::ranges::find(outcome.present, member) == outcome.present.end()) absent.push_back(member);
  if (outcome.told == 0 || absent.empty()) absent = {members.front()};
  Cause cause =
      absence_of(absent, "did not come within " + format_seconds(deadline.seconds()), facts_.now_ns());
  std::string complaints = outcome.complaints;
  if (self_ != members.front())
    for (const std::string& complaint : facts_.complaints()) complaints += "; " + complaint;
  cause.reason += complaints;
  throw AbsentMemberError("exchange '" + std::string(key) + "': " + cause.text(), cause);
}

}  // namespace hemiola
