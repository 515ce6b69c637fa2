// One agreement on who goes on, as one member takes part in it: told who has come, who is lost and what others say, it
// says what to send. It waits for nothing and knows no clock, so that a test can run thousands of them through every
// accident.
//
// The lowest member that is not lost leads. Each member that has come tells it whom it has lost and what it last
// accepted; once all that live have, the leader proposes whom to leave out, a proposal that somebody has accepted
// before its own; once all that live have accepted, it is decided. Single-decree Paxos whose quorum is everybody that
// lives, which never waits longer than the news of the lost takes. Members may stop at any instant, also between two
// messages of one round; whoever is told that it is lost has to stop.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hemiola/base/index.hpp"

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
  };
  enum class MessageKind : std::uint32_t { state, losses, proposal, acceptance, decision };
  struct Message {
    MessageKind kind;
    std::set<Rank> lost{};  ///< of a state and of losses
    std::optional<Proposal>
        proposal{};  ///< of a state: the latest accepted, if any; of a decision, what it is
  };
  using Send = std::function<void(Rank to, const Message& message)>;

  /// Members are sorted; `self` is one of them. `send` is called from within the calls below, never for `self`.
  SurvivorsVote(std::vector<Rank> members, Rank self, Send send);

  /// This member wants to go on.
  void come();
  void lose(Rank member) { lose(std::set<Rank>{member}); }
  void hear(Rank from, const Message& message);

  /// Who goes on, once that is decided.
  std::optional<std::vector<Rank>> decided() const;
  Rank leader() const;
  /// At the leader: who has come so far.
  std::vector<Rank> present() const;

 private:
  bool is_lost(Rank member) const { return lost_.contains(member); }
  void lose(const std::set<Rank>& members);
  void post(Rank to, const Message& message);
  void tell_living(const Message& message);
  void say_state();
  void propose();
  void decide(const Proposal& proposal);

  const std::vector<Rank> members_;
  const Rank self_;
  const Send send_;

  bool has_come_ = false;
  std::set<Rank> lost_;
  std::optional<Proposal> accepted_, decided_;

  // Of a leader:
  std::map<Rank, std::optional<Proposal>> states_;
  std::optional<Proposal> proposed_;
  std::set<Rank> asked_, acceptances_;
};

}  // namespace hemiola
