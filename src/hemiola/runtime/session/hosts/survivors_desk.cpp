// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/survivors_desk.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/absent_survivors.hpp"
#include "hemiola/runtime/session/hosts/packing.hpp"
#include "hemiola/runtime/session/hosts/topics.hpp"
#include "hemiola/runtime/session/minority_error.hpp"
#include "hemiola/runtime/session/rank_list.hpp"

namespace hemiola {
namespace {

constexpr auto kVoteGlance = std::chrono::milliseconds(5);
/// The time in which the leader lists the members that are there, once the deadline has passed.
constexpr auto kLeadersAnswer = std::chrono::milliseconds(500);
/// A rank that asks for the answer of an older one waits until its time is over.
constexpr std::size_t kKeptAgreements = 256;

}  // namespace

SurvivorsDesk::SurvivorsDesk(Courier* courier, Rank self, Lost lost)
    : courier_(courier), self_(self), lost_(std::move(lost)) {
  using Content = std::span<const std::byte>;
  const auto listen = [&](Topic topic, Courier::Handler handler) {
    subscriptions_.push_back(courier_->subscribe(topic, std::move(handler)));
  };
  listen(kVote, [this](Rank from, Content content) { hear_vote(from, content); });
  listen(kVoteQuestion, [this](Rank from, Content content) { hear_question(from, content); });
  listen(kVotePresence, [this](Rank, Content content) { hear_presence(content); });
}

SurvivorsVote::Decision SurvivorsDesk::next_members(const std::vector<Rank>& members, std::string_view text,
                                                    const Ask& ask, const Deadline& deadline) {
  Hasher hasher;
  hasher.add_bytes(std::as_bytes(std::span(members)));
  hasher.add_bytes(std::as_bytes(std::span(text)));
  const Hash128 digest = hasher.finish();
  const AgreementName name{digest.high, digest.low};
  std::unique_lock lock(mutex_);
  Agreement& mine = agreement(name, members);
  mine.is_awaited = true;
  mine.vote.come(ask.leaves, ask.guests, ask.next_number);
  while (!mine.vote.decided()) {
    changed_.wait_for(lock, kVoteGlance);
    tell_lost(mine);
    lock.unlock();
    deadline.check();
    lock.lock();
    if (mine.vote.decided() || !deadline.passed()) continue;
    await_presence(name, mine, lock);
    if (!mine.vote.decided()) throw_undecided(mine, members, deadline);
  }
  mine.is_awaited = false;
  return *mine.vote.decided();
}

SurvivorsDesk::Agreement& SurvivorsDesk::agreement(const AgreementName& name,
                                                   const std::vector<Rank>& members) {
  if (const auto known = agreements_.find(name); known != agreements_.end()) return *known->second;
  forget_old();
  const auto send = [this, name, members](Rank to, const SurvivorsVote::Message& message) {
    courier_->send(to, kVote, packed_vote(name, members, message));
  };
  auto fresh = std::make_unique<Agreement>(
      Agreement{.vote = {members, self_, send}, .present = {}, .number = next_number_++});
  return *agreements_.emplace(name, std::move(fresh)).first->second;
}

/// Those that this rank still waits in stay.
void SurvivorsDesk::forget_old() {
  if (agreements_.size() < kKeptAgreements) return;
  auto oldest = agreements_.end();
  for (auto one = agreements_.begin(); one != agreements_.end(); ++one)
    if (!one->second->is_awaited &&
        (oldest == agreements_.end() || one->second->number < oldest->second->number))
      oldest = one;
  if (oldest != agreements_.end()) agreements_.erase(oldest);
}

void SurvivorsDesk::hear_vote(Rank from, std::span<const std::byte> message) {
  const ReceivedVote vote = unpacked_vote(message);
  if (!std::ranges::binary_search(vote.members, self_) || !std::ranges::binary_search(vote.members, from))
    throw FormatError("a vote of members that are not its sender's and its receiver's");
  const std::lock_guard lock(mutex_);
  agreement(vote.agreement, vote.members).vote.hear(from, vote.message);
  changed_.notify_all();
}

void SurvivorsDesk::hear_question(Rank from, std::span<const std::byte> message) {
  Unpacker content(message);
  const auto name = content.get<AgreementName>();
  Packer answer;
  answer.put(name);
  const std::lock_guard lock(mutex_);
  const auto found = agreements_.find(name);
  const std::vector<Rank> present =
      found != agreements_.end() ? found->second->vote.present() : std::vector<Rank>{};
  courier_->send(from, kVotePresence, answer.put_ranks(present).take());
}

void SurvivorsDesk::hear_presence(std::span<const std::byte> message) {
  Unpacker content(message);
  const auto name = content.get<AgreementName>();
  const std::lock_guard lock(mutex_);
  const auto found = agreements_.find(name);
  if (found == agreements_.end()) return;
  found->second->present = content.get_ranks();
  ++found->second->told;
  changed_.notify_all();
}

void SurvivorsDesk::tell_lost(Agreement& agreement) {
  for (const LostRank& one : lost_()) {
    if (one.rank == self_)
      throw MinorityError("rank " + std::to_string(self_) +
                          " (this one) is lost to the others: " + one.reason);
    agreement.vote.lose(one.rank, one.evidence);
  }
  if (agreement.vote.is_given_up())
    throw MinorityError("rank " + std::to_string(self_) +
                        " (this one) is lost to the others, as one of them says");
}

/// Time is up: too few can be reached, or those that can have not all come.
void SurvivorsDesk::throw_undecided(const Agreement& agreement, const std::vector<Rank>& members,
                                    const Deadline& deadline) const {
  const std::set<Rank> living = agreement.vote.living();
  if (agreement.vote.is_minority())
    throw MinorityError(
        "going on without lost ranks: expected more than half of the " + std::to_string(members.size()) +
        " ranks, or half with rank " + std::to_string(members.front()) +
        ", or all but those whose end has been seen; found rank" + (living.size() == 1 ? " " : "s ") +
        rank_list({living.begin(), living.end()}) + " within " + format_seconds(deadline.seconds()) +
        ". The others may go on, behind a network that is cut: end this process");
  std::vector<Rank> absent;
  for (Rank member : living)
    if (std::ranges::find(agreement.present, member) == agreement.present.end()) absent.push_back(member);
  if (absent.empty()) absent.push_back(agreement.vote.leader());
  throw_absent_survivors(absent, deadline);
}

/// Asks the leader for the members that have come, so that an error can name the others. Without an answer, the leader
/// was not heard.
void SurvivorsDesk::await_presence(const AgreementName& name, Agreement& agreement,
                                   std::unique_lock<std::mutex>& lock) {
  const Rank leader = agreement.vote.leader();
  const std::uint64_t told = agreement.told;
  courier_->send(leader, kVoteQuestion, Packer().put(name).take());
  changed_.wait_for(lock, kLeadersAnswer, [&] { return agreement.told > told || agreement.vote.decided(); });
  if (agreement.told == told) agreement.present = {self_};
}

}  // namespace hemiola
