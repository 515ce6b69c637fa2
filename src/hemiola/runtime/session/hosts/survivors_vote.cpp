#include "hemiola/runtime/session/hosts/survivors_vote.hpp"

#include <algorithm>
#include <utility>

namespace hemiola {

SurvivorsVote::SurvivorsVote(std::vector<Rank> members, Rank self, Send send)
    : members_(std::move(members)), self_(self), send_(std::move(send)) {}

void SurvivorsVote::come() {
  if (std::exchange(has_come_, true)) return;
  say_state();
}

/// A new leader hears what this member knows; so does the old one, whose proposal may wait for the one that is lost.
void SurvivorsVote::lose(const std::set<Rank>& members) {
  const std::size_t known = lost_.size();
  for (Rank member : members)
    if (member != self_ && std::ranges::binary_search(members_, member)) lost_.insert(member);
  if (lost_.size() == known) return;
  if (leader() == self_) tell_living({.kind = MessageKind::losses, .lost = lost_});
  say_state();
}

/// What a lost leader has proposed is not accepted any more: the next one has been told what was accepted before.
void SurvivorsVote::hear(Rank from, const Message& message) {
  if (is_lost(from)) return;
  lose(message.lost);
  switch (message.kind) {
    case MessageKind::losses:
      return;
    case MessageKind::state:
      if (decided_) return post(from, {.kind = MessageKind::decision, .proposal = decided_});
      states_[from] = message.proposal;
      return propose();
    case MessageKind::proposal:
      if (decided_) return post(from, {.kind = MessageKind::decision, .proposal = decided_});
      accepted_ = message.proposal;
      return post(from, {.kind = MessageKind::acceptance, .proposal = message.proposal});
    case MessageKind::acceptance:
      if (decided_ || !proposed_ || message.proposal->ballot != proposed_->ballot) return;
      acceptances_.insert(from);
      if (std::ranges::all_of(asked_, [&](Rank one) { return is_lost(one) || acceptances_.contains(one); }))
        decide(*proposed_);
      return;
    case MessageKind::decision:
      return decide(*message.proposal);
  }
}

std::optional<std::vector<Rank>> SurvivorsVote::decided() const {
  if (!decided_) return std::nullopt;
  std::vector<Rank> survivors;
  for (Rank member : members_)
    if (!decided_->left_out.contains(member)) survivors.push_back(member);
  return survivors;
}

Rank SurvivorsVote::leader() const {
  return *std::ranges::find_if(members_, [&](Rank member) { return !is_lost(member); });
}

std::vector<Rank> SurvivorsVote::present() const {
  std::vector<Rank> present;
  for (const auto& [rank, accepted] : states_)
    if (!is_lost(rank)) present.push_back(rank);
  return present;
}

void SurvivorsVote::post(Rank to, const Message& message) {
  if (to == self_)
    hear(self_, message);
  else
    send_(to, message);
}

/// Itself last: what it hears from itself may be the last thing that was missing.
void SurvivorsVote::tell_living(const Message& message) {
  for (Rank member : members_)
    if (member != self_ && !is_lost(member)) post(member, message);
  if (message.kind != MessageKind::losses) post(self_, message);
}

/// A member that knows the decision passes it to whoever leads now, and a leader to all: the old one may have been lost
/// before it had told everybody.
void SurvivorsVote::say_state() {
  if (!has_come_) return;
  if (!decided_) return post(leader(), {.kind = MessageKind::state, .lost = lost_, .proposal = accepted_});
  const Message decision{.kind = MessageKind::decision, .proposal = decided_};
  if (leader() == self_)
    tell_living(decision);
  else
    post(leader(), decision);
}

void SurvivorsVote::propose() {
  if (decided_ || !has_come_ || leader() != self_) return;
  std::set<Rank> living;
  Proposal next{{self_, static_cast<std::int32_t>(lost_.size())}, lost_};
  Ballot best;
  for (Rank member : members_) {
    if (is_lost(member)) continue;
    const auto state = states_.find(member);
    if (state == states_.end()) return;
    living.insert(member);
    if (!state->second || state->second->ballot <= best) continue;
    best = state->second->ballot;
    next.left_out = state->second->left_out;
  }
  if (proposed_ && proposed_->ballot == next.ballot) return;
  proposed_ = next;
  asked_ = std::move(living);
  acceptances_.clear();
  tell_living({.kind = MessageKind::proposal, .proposal = next});
}

void SurvivorsVote::decide(const Proposal& proposal) {
  if (decided_) return;
  decided_ = proposal;
  if (leader() == self_) tell_living({.kind = MessageKind::decision, .proposal = decided_});
}

}  // namespace hemiola
