// SPDX-License-Identifier: Apache-2.0
// Agreements of hundreds and thousands of members, packed as they travel: the messages and bytes for each member do not
// grow with the number of members.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "hemiola/runtime/session/hosts/packed_vote.hpp"
#include "hemiola/runtime/session/hosts/survivors_vote.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kCardBytes = 200;

/// All members know one newcomer, and one member leaves.
class Job {
 public:
  Job(int count, Rank leaver) : leaver_(leaver) {
    for (Rank rank : indices<Rank>(count)) members_.push_back(rank);
    for (Rank self : members_)
      votes_.push_back(std::make_unique<SurvivorsVote>(
          members_, self, [this, self](Rank to, const SurvivorsVote::Message& said) {
            letters_.push_back({self, to, packed_vote({}, members_, said)});
            ++messages_;
            bytes_ += letters_.back().packed.size();
          }));
  }

  void come(Rank member) {
    const Guest newcomer{.id = 7, .card = Bytes(kCardBytes, std::byte{1})};
    votes_[at(member)]->come(member == leaver_, {newcomer}, Rank{static_cast<int>(members_.size())});
  }
  /// Delivers what was said, in its order, until all is silent or so many have come to members that are not lost.
  void run(std::size_t most = ~std::size_t{0}) {
    for (; !letters_.empty() && most > 0; letters_.pop_front()) {
      const Letter letter = std::move(letters_.front());
      if (lost_.contains(letter.to)) continue;
      --most;
      votes_[at(letter.to)]->hear(letter.from, unpacked_vote(letter.packed).message);
    }
  }
  /// It hears nothing more, and all others learn of it.
  void lose(Rank lost, Evidence evidence) {
    lost_.insert(lost);
    for (Rank member : members_)
      if (member != lost) votes_[at(member)]->lose(lost, evidence);
  }

  const std::vector<Rank>& members() const { return members_; }
  std::vector<Rank> members_without(const std::set<Rank>& some) const {
    std::vector<Rank> others;
    std::ranges::set_difference(members_, some, std::back_inserter(others));
    return others;
  }
  std::size_t messages() const { return messages_; }
  std::size_t bytes() const { return bytes_; }
  /// Whether all that are not lost have decided that these go on, and the newcomer.
  bool have_all_decided_on(std::vector<Rank> some) const {
    some.emplace_back(members_.size());
    return std::ranges::all_of(members_without(lost_), [&](Rank member) {
      const auto decided = votes_[at(member)]->decided();
      return decided && decided->members == some && decided->let_in.size() == 1 &&
             decided->let_in.front().card.size() == kCardBytes;
    });
  }

 private:
  struct Letter {
    Rank from, to;
    Bytes packed;
  };

  const Rank leaver_;
  std::vector<Rank> members_;
  std::vector<std::unique_ptr<SurvivorsVote>> votes_;
  std::deque<Letter> letters_;
  std::set<Rank> lost_;
  std::size_t messages_ = 0, bytes_ = 0;
};

class VotesAtScale : public ::testing::TestWithParam<int> {
 protected:
  const int count = GetParam();
  const std::size_t others = at(count) - 1;
  const Rank leaver{count / 3};

  /// At most so many messages and bytes a member, whatever the number of members.
  static void expect_cost(const Job& job, std::size_t messages, std::size_t bytes) {
    EXPECT_LE(job.messages(), messages * (job.members().size() - 1));
    EXPECT_LE(job.bytes(), bytes * job.members().size());
  }
};

/// A state, a proposal, an acceptance and a decision. The newcomer's card is in two of them.
TEST_P(VotesAtScale, CostFourMessagesAMember) {
  Job job(count, leaver);
  for (Rank member : job.members()) job.come(member);
  job.run();
  EXPECT_TRUE(job.have_all_decided_on(job.members_without({leaver})));
  EXPECT_EQ(job.messages(), 4 * others);
  expect_cost(job, 4, 800);
}

/// The leader tells of the loss, and every member tells its state anew. A member that may live hears from each that it is
/// given up.
TEST_P(VotesAtScale, CostTwoMoreForAMemberThatIsLostAndOneMoreForOneThatMayLive) {
  const Rank lost{count / 2};
  for (const auto evidence : {Evidence::seen, Evidence::suspicion}) {
    Job job(count, leaver);
    for (Rank member : job.members())
      if (member != lost) job.come(member);
    job.run();
    job.lose(lost, evidence);
    job.run();
    EXPECT_TRUE(job.have_all_decided_on(job.members_without({leaver, lost})));
    expect_cost(job, evidence == Evidence::seen ? 6 : 7, 1000);
  }
}

/// Half of the members have accepted its proposal, so it stays among the members. The next leader proposes the same anew,
/// which costs a proposal and an acceptance more.
TEST_P(VotesAtScale, CostFourMoreForALeaderThatIsLost) {
  const Rank leader{0};
  for (const auto evidence : {Evidence::seen, Evidence::suspicion}) {
    Job job(count, leaver);
    for (Rank member : job.members()) job.come(member);
    job.run(others + others / 2);
    job.lose(leader, evidence);
    job.run();
    EXPECT_TRUE(job.have_all_decided_on(job.members_without({leaver})));
    expect_cost(job, evidence == Evidence::seen ? 8 : 9, 1500);
  }
}

INSTANTIATE_TEST_SUITE_P(Members, VotesAtScale, ::testing::Values(8, 64, 512, 4096),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace hemiola
