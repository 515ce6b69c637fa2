// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/survivors_vote.hpp"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace hemiola {

SurvivorsVote::SurvivorsVote(std::vector<Rank> members, Rank self, Send send)
    : members_(std::move(members)), self_(self), send_(std::move(send)) {}

void SurvivorsVote::come(bool leaves, std::vector<Guest> guests, Rank next_number) {
  const bool is_known = std::exchange(has_come_, true) && leaves == leaves_;
  leaves_ = leaves;
  guests_ = std::move(guests);
  std::ranges::sort(guests_, {}, &Guest::id);
  for (Guest& guest : guests_) {
    guest.number = next_number;
    ++next_number;
  }
  if (!is_known) say_state();
}

void SurvivorsVote::lose(Rank member, Evidence evidence) {
  if (evidence == Evidence::suspicion) doubtful_.insert(member);
  const bool has_ended = evidence == Evidence::seen && !doubtful_.contains(member);
  lose({member}, has_ended ? std::set<Rank>{member} : std::set<Rank>{});
}

/// A new leader hears this member's state. So does the old one: its proposal may wait for the lost member.
void SurvivorsVote::lose(const std::set<Rank>& members, const std::set<Rank>& ended) {
  std::set<Rank> fresh;
  for (Rank member : members)
    if (member != self_ && std::ranges::binary_search(members_, member) && lost_.insert(member).second) {
      fresh.insert(member);
      states_.erase(member);
      awaited_.erase(member);
    }
  const std::size_t known = ended_.size();
  std::ranges::set_intersection(ended, lost_, std::inserter(ended_, ended_.end()));
  if (fresh.empty() && ended_.size() == known) return;
  for (Rank member : fresh)
    if (!ended_.contains(member)) post(member, {.kind = MessageKind::given_up});
  if (leader() == self_) tell_living({.kind = MessageKind::losses, .lost = lost_, .ended = ended_});
  say_state();
}

/// The proposal of a lost leader is not accepted any more: the next one knows the earlier acceptances. A lost member
/// that has given up this one goes on with others, perhaps.
void SurvivorsVote::hear(Rank from, const Message& message) {
  if (is_lost(from)) {
    if (message.kind == MessageKind::given_up) doubtful_.insert(from);
    return;
  }
  lose(message.lost, message.ended);
  switch (message.kind) {
    case MessageKind::losses:
      return;
    case MessageKind::given_up:
      is_given_up_ = true;
      return;
    case MessageKind::state:
      if (decided_) return post(from, {.kind = MessageKind::decision, .proposal = decided_});
      states_[from] = {message.leaves, message.proposal};
      return propose();
    case MessageKind::proposal:
      if (decided_) return post(from, {.kind = MessageKind::decision, .proposal = decided_});
      accepted_ = message.proposal;
      return post(from,
                  {.kind = MessageKind::acceptance, .proposal = Proposal{message.proposal->ballot, {}}});
    case MessageKind::acceptance:
      if (decided_ || !proposed_ || message.proposal->ballot != proposed_->ballot) return;
      acceptances_.insert(from);
      awaited_.erase(from);
      return conclude();
    case MessageKind::decision:
      return decide(*message.proposal);
  }
}

std::optional<SurvivorsVote::Decision> SurvivorsVote::decided() const {
  if (!decided_) return std::nullopt;
  Decision decision{{}, decided_->let_in};
  for (Rank member : members_)
    if (!decided_->left_out.contains(member)) decision.members.push_back(member);
  for (const Guest& guest : decided_->let_in) decision.members.push_back(guest.number);
  return decision;
}

Rank SurvivorsVote::leader() const {
  return *std::ranges::find_if(members_, [&](Rank member) { return !is_lost(member); });
}

std::set<Rank> SurvivorsVote::living() const {
  std::set<Rank> living;
  for (Rank member : members_)
    if (!is_lost(member)) living.insert(member);
  return living;
}

/// Two sides without a member in common cannot both be one, as long as every end that was seen is true.
bool SurvivorsVote::is_quorum(const std::set<Rank>& some) const {
  const std::size_t twice = 2 * some.size();
  if (twice > members_.size() || (twice == members_.size() && some.contains(members_.front()))) return true;
  return std::ranges::all_of(members_, [&](Rank one) { return some.contains(one) || ended_.contains(one); });
}

std::vector<Rank> SurvivorsVote::present() const {
  const auto ranks = std::views::keys(states_);
  return {ranks.begin(), ranks.end()};
}

void SurvivorsVote::post(Rank to, const Message& message) {
  if (to == self_)
    hear(self_, message);
  else
    send_(to, message);
}

/// Itself last, since its own vote may be the last one that was missing.
void SurvivorsVote::tell_living(const Message& message) {
  for (Rank member : members_)
    if (member != self_ && !is_lost(member)) post(member, message);
  if (message.kind != MessageKind::losses) post(self_, message);
}

/// A member that knows the decision passes it to the present leader, and a leader to all: the old one may have been
/// lost before it had told everybody.
void SurvivorsVote::say_state() {
  if (!has_come_) return;
  if (!decided_)
    return post(leader(), {.kind = MessageKind::state,
                           .lost = lost_,
                           .ended = ended_,
                           .leaves = leaves_,
                           .proposal = accepted_});
  const Message decision{.kind = MessageKind::decision, .proposal = decided_};
  if (leader() == self_)
    tell_living(decision);
  else
    post(leader(), decision);
}

/// Where nobody stays, nobody is let in: newcomers would be alone in the job.
SurvivorsVote::Proposal SurvivorsVote::fresh_proposal() const {
  Proposal fresh{ballot(), lost_};
  for (const auto& [member, state] : states_)
    if (state.leaves) fresh.left_out.insert(member);
  if (fresh.left_out.size() < members_.size()) fresh.let_in = guests_;
  return fresh;
}

/// Called with every state: the first two lines must not look at all members.
void SurvivorsVote::propose() {
  if (decided_ || !has_come_ || leader() != self_ || states_.size() + lost_.size() < members_.size()) return;
  if (proposed_ && proposed_->ballot == ballot()) return conclude();
  if (is_minority()) return;
  Proposal next = fresh_proposal();
  Ballot best;
  const std::set<Rank> asked = living();
  for (Rank member : asked) {
    const auto state = states_.find(member);
    if (state == states_.end()) return;
    const std::optional<Proposal>& accepted = state->second.accepted;
    if (!accepted || accepted->ballot <= best) continue;
    best = accepted->ballot;
    next.left_out = accepted->left_out;
    next.let_in = accepted->let_in;
  }
  proposed_ = next;
  awaited_ = asked;
  acceptances_.clear();
  tell_living({.kind = MessageKind::proposal, .proposal = next});
}

void SurvivorsVote::conclude() {
  if (awaited_.empty() && is_quorum(acceptances_)) decide(*proposed_);
}

void SurvivorsVote::decide(const Proposal& proposal) {
  if (decided_) return;
  decided_ = proposal;
  if (leader() == self_) tell_living({.kind = MessageKind::decision, .proposal = decided_});
}

}  // namespace hemiola
