// Thousands of agreements among members that stop at any instant, also between two messages of one round, with what they
// had sent cut off anywhere: whoever decides decides the same, and whoever lives decides.
#include "hemiola/runtime/session/hosts/survivors_vote.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace hemiola {
namespace {

/// One agreement: what may happen next is drawn, one event at a time.
class Trial {
 public:
  explicit Trial(std::uint64_t seed) : random_(seed) {
    const int count = draw(2, 7);
    for (Rank rank : indices<Rank>(count)) members_.push_back(rank);
    std::vector<Rank> order = members_;
    std::ranges::shuffle(order, random_);
    const int deaths = draw(1, count - 1);
    for (int i = 0; i < deaths; ++i) doomed_[order[static_cast<std::size_t>(i)]] = draw(0, 40);
    for (Rank self : members_)
      votes_.push_back(std::make_unique<SurvivorsVote>(
          members_, self, [this, self](Rank to, const SurvivorsVote::Message& m) { post(self, to, m); }));
    to_come_.insert(members_.begin(), members_.end());
  }

  void run() {
    for (int event = 0; event < 20'000 && happen(); ++event) {
    }
  }

  bool is_agreed() const {
    std::set<std::vector<Rank>> decisions;
    for (Rank member : members_)
      if (const auto decided = vote(member).decided()) decisions.insert(*decided);
    return decisions.size() <= 1;
  }
  bool everybody_alive_has_decided_and_is_in() const {
    return std::ranges::all_of(members_, [&](Rank member) {
      if (dead_.contains(member)) return true;
      const auto decided = vote(member).decided();
      return decided && std::ranges::binary_search(*decided, member);
    });
  }

 private:
  using Way = std::pair<Rank, Rank>;

  int draw(int first, int last) { return std::uniform_int_distribution(first, last)(random_); }
  SurvivorsVote& vote(Rank member) const { return *votes_[static_cast<std::size_t>(member)]; }

  /// A doomed member stops after so many messages and events.
  void age(Rank member) {
    const auto doom = doomed_.find(member);
    if (doom == doomed_.end() || dead_.contains(member) || doom->second-- > 0) return;
    dead_.insert(member);
    to_come_.erase(member);
    for (auto& [way, letters] : ways_)
      if (way.first == member)
        letters.resize(static_cast<std::size_t>(draw(0, static_cast<int>(letters.size()))));
    for (Rank other : members_)
      if (other != member) to_notice_.push_back({other, member});
  }

  void post(Rank from, Rank to, const SurvivorsVote::Message& message) {
    age(from);
    if (!dead_.contains(from)) ways_[{from, to}].push_back(message);
  }

  bool happen() {
    std::vector<Way> full;
    for (const auto& [way, letters] : ways_)
      if (!letters.empty()) full.push_back(way);
    const std::size_t choices = full.size() + to_notice_.size() + to_come_.size();
    if (choices == 0) return kill_idle();
    auto choice = static_cast<std::size_t>(draw(0, static_cast<int>(choices) - 1));
    if (choice < full.size()) {
      deliver(full[choice]);
    } else if ((choice -= full.size()) < to_notice_.size()) {
      const auto [who, whom] = to_notice_[choice];
      to_notice_.erase(to_notice_.begin() + static_cast<std::ptrdiff_t>(choice));
      if (!dead_.contains(who)) vote(who).lose(whom);
    } else {
      const Rank who = *std::next(to_come_.begin(), static_cast<std::ptrdiff_t>(choice - to_notice_.size()));
      to_come_.erase(who);
      age(who);
      if (!dead_.contains(who)) vote(who).come();
    }
    return true;
  }

  void deliver(Way way) {
    std::deque<SurvivorsVote::Message>& letters = ways_[way];
    const SurvivorsVote::Message message = letters.front();
    letters.pop_front();
    age(way.second);
    if (!dead_.contains(way.second)) vote(way.second).hear(way.first, message);
  }

  /// Nothing is left to happen but deaths.
  bool kill_idle() {
    for (auto& [member, left] : doomed_)
      if (!dead_.contains(member)) {
        left = 0;
        age(member);
        return true;
      }
    return false;
  }

  std::mt19937_64 random_;
  std::vector<Rank> members_;
  std::vector<std::unique_ptr<SurvivorsVote>> votes_;
  std::map<Rank, int> doomed_;
  std::set<Rank> dead_, to_come_;
  std::vector<Way> to_notice_;
  std::map<Way, std::deque<SurvivorsVote::Message>> ways_;
};

TEST(SurvivorsVote, DecidesTheSameForAllAndForAllThatLiveWhoeverStopsWhenever) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Trial trial(seed);
    trial.run();
    ASSERT_TRUE(trial.is_agreed()) << "seed " << seed;
    ASSERT_TRUE(trial.everybody_alive_has_decided_and_is_in()) << "seed " << seed;
  }
}

TEST(SurvivorsVote, TheLeaderKnowsWhoHasCome) {
  std::vector<std::pair<Rank, SurvivorsVote::Message>> sent;
  SurvivorsVote leader({Rank{2}, Rank{5}, Rank{9}}, Rank{2}, [](Rank, const SurvivorsVote::Message&) {});
  SurvivorsVote second({Rank{2}, Rank{5}, Rank{9}}, Rank{5},
                       [&](Rank to, const SurvivorsVote::Message& m) { sent.emplace_back(to, m); });
  leader.come();
  second.come();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent.front().first, Rank{2});
  leader.hear(Rank{5}, sent.front().second);
  EXPECT_EQ(leader.present(), (std::vector<Rank>{Rank{2}, Rank{5}}));
  EXPECT_FALSE(leader.decided());
}

}  // namespace
}  // namespace hemiola
