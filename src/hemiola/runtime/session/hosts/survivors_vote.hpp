// SPDX-License-Identifier: Apache-2.0
// One agreement on the next members, as one member takes part in it. Its inputs are arrivals, losses and votes; its
// outputs are messages to send. It waits for nothing and knows no clock, so that a test can run thousands of them
// through every accident.
//
// The lowest member that is not lost leads. Each member that has come tells it the members that it has lost, whether
// it leaves, and its last accepted proposal. Once all living members have, the leader proposes: those that are lost
// or leave are out, and the guests that it knows come in. It gives them their numbers. A proposal that somebody has
// accepted goes before its own, with its guests and their numbers. A member that leaves votes and counts like any
// other. The proposal is decided once all living members have accepted it and are a quorum. A quorum is more than
// half of the members, or half with the lowest, or all but those whose end somebody has seen. Members may stop at
// any instant, also between two messages of one round. A network may be cut, and members be given up that live: then
// one side decides at most.
//
// A member may lose another one without having seen its end. It tells that one so before anything else, and that one
// stops. Otherwise, left out on the word of a rank that has died since, it could see all others finish, and go on
// alone.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/hosts/guest.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

class SurvivorsVote {
 public:
  /// Later proposals are greater: by leader, who is followed by higher ones only, then by how many it had lost.
  struct Ballot {
    Rank leader{-1};
    std::int32_t lost_count = 0;
    friend auto operator<=>(const Ballot&, const Ballot&) = default;
  };
  struct Proposal {
    Ballot ballot;
    std::set<Rank> left_out;
    std::vector<Guest> let_in{};  ///< by number; all numbers are above the members'
  };
  enum class MessageKind : std::uint32_t { state, losses, proposal, acceptance, decision, given_up };
  struct Message {
    MessageKind kind;
    std::set<Rank> lost{};   ///< of a state and of losses
    std::set<Rank> ended{};  ///< those of them whose end somebody has seen
    bool leaves = false;     ///< of a state: its sender does
    std::optional<Proposal>
        proposal{};  ///< of a state: the latest accepted one, if any; of an acceptance: its ballot alone
  };
  struct Decision {
    std::vector<Rank> members;  ///< sorted: those that go on, and the newcomers
    std::vector<Guest> let_in;  ///< by number
    friend bool operator==(const Decision&, const Decision&) = default;
  };
  using Send = std::function<void(Rank to, const Message& message)>;

  /// Members are sorted; `self` is one of them. `send` is called from within the calls below, never for `self`.
  SurvivorsVote(std::vector<Rank> members, Rank self, Send send);

  /// This member takes part, and goes on unless it leaves. It would let in the guests, whose ids differ, if it led: with
  /// the numbers from `next_number` on, in the order of their ids. A call that comes again counts in place of the one
  /// before, as far as nothing has been proposed.
  void come(bool leaves, std::vector<Guest> guests, Rank next_number);
  /// As often as one knows more.
  void lose(Rank member, Evidence evidence);
  void hear(Rank from, const Message& message);

  std::optional<Decision> decided() const;
  /// Whether another member has given this one up, as it has said.
  bool is_given_up() const { return is_given_up_; }
  /// Whether those that are not lost, as far as this member knows, are too few to go on.
  bool is_minority() const { return !is_quorum(living()); }
  std::set<Rank> living() const;
  Rank leader() const;
  /// At the leader: the members that have come so far.
  std::vector<Rank> present() const;

 private:
  struct State {
    bool leaves;
    std::optional<Proposal> accepted;
  };

  bool is_lost(Rank member) const { return lost_.contains(member); }
  bool is_quorum(const std::set<Rank>& some) const;
  void lose(const std::set<Rank>& members, const std::set<Rank>& ended);
  void conclude();
  void post(Rank to, const Message& message);
  void tell_living(const Message& message);
  void say_state();
  Ballot ballot() const { return {self_, static_cast<std::int32_t>(lost_.size())}; }
  Proposal fresh_proposal() const;
  void propose();
  void decide(const Proposal& proposal);

  const std::vector<Rank> members_;
  const Rank self_;
  const Send send_;

  bool has_come_ = false, leaves_ = false, is_given_up_ = false;
  std::vector<Guest> guests_;  ///< with the numbers that this member would give them
  std::set<Rank> lost_, ended_;
  std::set<Rank>
      doubtful_;  ///< those that may have gone on without this member: seeing their end proves nothing
  std::optional<Proposal> accepted_, decided_;

  // Of a leader:
  std::map<Rank, State> states_;  ///< of members that are not lost
  std::optional<Proposal> proposed_;
  std::set<Rank> awaited_, acceptances_;
};

}  // namespace hemiola
