// SPDX-License-Identifier: Apache-2.0
// Thousands of agreements among members that stop at any instant, also between two messages of one round, with what they
// had sent cut off anywhere, in networks that are cut and heal, with members that are given up though they live: whoever
// decides decides the same. Where members are only killed, whoever lives decides. Some members leave, and each would let
// in other guests.
#include "hemiola/runtime/session/hosts/survivors_vote.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace hemiola {
namespace {

struct Accidents {
  bool kills = false, cuts = false, wrong_suspicions = false;
};

using Decision = SurvivorsVote::Decision;
using Guests = std::vector<Guest>;

Guest guest(std::uint64_t id) {
  return {.id = id, .card = Bytes(id % 7, std::byte(id))};
}

/// As numbers are given, from `first` on.
Guests numbered(Guests guests, int first) {
  std::ranges::sort(guests, {}, &Guest::id);
  for (Guest& one : guests) one.number = Rank{first++};
  return guests;
}

/// One agreement: what may happen next is drawn, one event at a time.
class Trial {
 public:
  Trial(std::uint64_t seed, const Accidents& accidents) : random_(seed) {
    const int count = draw(2, 8);
    for (Rank rank : indices<Rank>(count)) members_.push_back(rank);
    std::vector<Rank> order = members_;
    std::ranges::shuffle(order, random_);
    const int deaths = accidents.kills ? draw(1, count - 1) : 0;
    for (int i = 0; i < deaths; ++i) doomed_[order[at(i)]] = draw(0, 40);
    if (accidents.cuts) cut_at_ = draw(0, 60);
    if (accidents.wrong_suspicions) suspicions_left_ = draw(1, 3);
    for (Rank self : members_)
      votes_.push_back(std::make_unique<SurvivorsVote>(
          members_, self, [this, self](Rank to, const SurvivorsVote::Message& m) { post(self, to, m); }));
    to_come_.insert(members_.begin(), members_.end());
    const int how_often = draw(1, 4);
    for (Rank member : members_)
      if (draw(1, 8) < how_often) leavers_.insert(member);
  }

  int run() {
    int events = 0;
    for (; events < 20'000 && happen(); ++events) note_decisions();
    return events;
  }

  /// All that were ever taken, none twice.
  const std::vector<Decision>& decisions() const { return decisions_; }
  /// Whether it leaves out all that leave, and lets in all guests that one member would let in, each with a number.
  bool is_sound(const Decision& decision) const {
    const int count = static_cast<int>(members_.size());
    std::vector<Rank> stay;
    for (Rank one : decision.members)
      if (one < count) stay.push_back(one);
    std::vector<Rank> all = stay;
    for (const Guest& one : decision.let_in) all.push_back(one.number);
    const bool nobody_leaving_stays =
        std::ranges::none_of(stay, [&](Rank one) { return leavers_.contains(one); });
    const bool are_one_members = std::ranges::any_of(
        known_guests_, [&](const Guests& known) { return numbered(known, count) == decision.let_in; });
    return all == decision.members && std::ranges::is_sorted(all) && nobody_leaving_stays &&
           (stay.empty() ? decision.let_in.empty() : are_one_members);
  }
  bool is_decided_by(const std::vector<Rank>& some) const {
    return std::ranges::all_of(some, [&](Rank member) {
      if (dead_.contains(member)) return true;
      const auto decided = vote(member).decided();
      return decided && goes_on(member, *decided) != leavers_.contains(member) && !vote(member).is_given_up();
    });
  }
  const std::vector<Rank>& members() const { return members_; }
  /// The side that may go on of a network that was cut and has not healed; nobody where there is none, or where one of them
  /// has ended and left the others too few.
  std::vector<Rank> larger_side() const {
    std::vector<Rank> sides[2];
    for (Rank member : members_) sides[cut_off_.contains(member) ? 1 : 0].push_back(member);
    for (const auto& side : sides)
      if (2 * side.size() > members_.size() ||
          (2 * side.size() == members_.size() && side.front() == members_.front()))
        return cut_off_.empty() || !dead_.empty() ? std::vector<Rank>{} : side;
    return {};
  }

 private:
  static bool goes_on(Rank member, const Decision& decision) {
    return std::ranges::binary_search(decision.members, member);
  }

  using Way = std::pair<Rank, Rank>;
  /// Nothing: the end of the connection.
  using Letter = std::optional<SurvivorsVote::Message>;

  int draw(int first, int last) { return std::uniform_int_distribution(first, last)(random_); }
  SurvivorsVote& vote(Rank member) const { return *votes_[at(member)]; }
  Rank somebody() { return members_[at(draw(0, static_cast<int>(members_.size()) - 1))]; }
  bool lives(Rank member) const { return !dead_.contains(member) && !vote(member).is_given_up(); }
  bool is_cut(Way way) const { return cut_off_.contains(way.first) != cut_off_.contains(way.second); }

  /// A doomed member stops after so many messages and events.
  void age(Rank member) {
    const auto doom = doomed_.find(member);
    if (doom == doomed_.end() || dead_.contains(member) || doom->second-- > 0) return;
    for (auto& [way, letters] : ways_)
      if (way.first == member)
        letters.resize(static_cast<std::size_t>(draw(0, static_cast<int>(letters.size()))));
    end(member);
  }

  /// Its connections end behind what it has said; some may hear of it from others.
  void end(Rank member) {
    dead_.insert(member);
    to_come_.erase(member);
    for (Rank other : members_) {
      if (other == member) continue;
      ways_[{member, other}].push_back(std::nullopt);
      if (draw(0, 1) == 1) hearsay_.push_back({other, member});
    }
  }

  /// One that is taken later than its member's death, in the call in which that died, is none.
  void note_decisions() {
    for (Rank member : members_) {
      if (dead_.contains(member)) continue;
      const auto decided = vote(member).decided();
      if (decided && std::ranges::find(decisions_, *decided) == decisions_.end())
        decisions_.push_back(*decided);
    }
  }

  void post(Rank from, Rank to, const SurvivorsVote::Message& message) {
    age(from);
    if (!dead_.contains(from)) ways_[{from, to}].push_back(message);
  }

  bool happen() {
    if (cut_at_ && (*cut_at_)-- == 0) cut();
    std::vector<Way> full;
    for (const auto& [way, letters] : ways_)
      if (!letters.empty() && !is_cut(way)) full.push_back(way);
    const std::size_t choices = full.size() + hearsay_.size() + to_come_.size();
    if (choices == 0) return happen_otherwise();
    if (suspicions_left_ > 0 && draw(0, 9) == 0) return suspect_somebody();
    if (draw(0, 29) == 0) finish(somebody());
    if (draw(0, 99) == 0) come_again(somebody());
    auto choice = static_cast<std::size_t>(draw(0, static_cast<int>(choices) - 1));
    if (choice < full.size()) {
      deliver(full[choice]);
    } else if ((choice -= full.size()) < hearsay_.size()) {
      const auto [who, whom] = hearsay_[choice];
      hearsay_.erase(hearsay_.begin() + static_cast<std::ptrdiff_t>(choice));
      if (!is_cut({who, whom})) lose(who, whom, Evidence::hearsay);
    } else if (!to_come_.empty()) {
      const Rank who = *std::next(to_come_.begin(), static_cast<std::ptrdiff_t>(choice - hearsay_.size()));
      to_come_.erase(who);
      age(who);
      come(who);
    }
    return true;
  }

  /// Each knows some of the guests, and perhaps others when it comes again.
  void come(Rank who) {
    if (!lives(who)) return;
    Guests guests;
    for (int id = draw(1, 4); id <= 4; id += draw(1, 3))
      guests.push_back(guest(static_cast<std::uint64_t>(id)));
    std::ranges::shuffle(guests, random_);
    known_guests_.push_back(guests);
    vote(who).come(leavers_.contains(who), guests, Rank{static_cast<int>(members_.size())});
  }

  void deliver(Way way) {
    std::deque<Letter>& letters = ways_[way];
    const Letter letter = letters.front();
    letters.pop_front();
    age(way.second);
    if (!letter)
      lose(way.second, way.first, Evidence::seen);
    else if (lives(way.second))
      vote(way.second).hear(way.first, *letter);
  }

  void lose(Rank who, Rank whom, Evidence evidence) {
    if (lives(who)) vote(who).lose(whom, evidence);
  }

  /// Its time was over, and it asks once more.
  void come_again(Rank who) {
    if (!to_come_.contains(who) && !vote(who).decided()) come(who);
  }

  /// It goes on, comes to the end of its work, and ends; or it leaves.
  void finish(Rank who) {
    const auto decided = vote(who).decided();
    if (lives(who) && decided && (leavers_.contains(who) || (goes_on(who, *decided) && has_accidents())))
      end(who);
  }
  bool has_accidents() const { return cut_at_ || !suspicions_.empty(); }

  bool suspect_somebody() {
    --suspicions_left_;
    const Rank who = somebody(), whom = somebody();
    if (who == whom || !lives(who) || dead_.contains(whom)) return true;
    suspicions_.insert({who, whom});
    for (Rank other : members_)
      if (other != who && other != whom && draw(0, 1) == 1) hearsay_.push_back({other, whom});
    lose(who, whom, Evidence::suspicion);
    return true;
  }

  /// Between those of a random set and all others nothing passes for a while.
  void cut() {
    for (Rank member : members_)
      if (draw(0, 1) == 1) cut_off_.insert(member);
    for (Rank who : members_)
      for (Rank whom : members_)
        if (is_cut({who, whom})) silent_.push_back({who, whom});
    std::ranges::shuffle(silent_, random_);
    heals_ = draw(0, 1) == 1;
  }

  /// Nothing more comes by itself. Then silence is noticed, the network heals, or somebody dies.
  bool happen_otherwise() {
    if (!silent_.empty()) {
      const auto [who, whom] = silent_.back();
      silent_.pop_back();
      lose(who, whom, Evidence::suspicion);
      return true;
    }
    if (heals_ && !cut_off_.empty()) {
      cut_off_.clear();
      return true;
    }
    if (cut_at_ && *cut_at_ >= 0) {
      cut_at_ = 0;
      return true;
    }
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
  std::set<Rank> dead_, to_come_, cut_off_, leavers_;
  std::vector<Guests> known_guests_;
  std::vector<Decision> decisions_;
  std::optional<int> cut_at_;  ///< so many events from now; below 0: it has been
  bool heals_ = false;
  int suspicions_left_ = 0;
  std::set<Way> suspicions_;
  std::vector<Way> hearsay_, silent_;
  std::map<Way, std::deque<Letter>> ways_;
};

/// Of all trials together; a step is one event.
constexpr int kSteps = 1'000'000;

TEST(SurvivorsVote, DecidesTheSameForAllAndForAllThatLiveWhoeverStopsWhenever) {
  int steps = 0, let_in = 0;
  for (std::uint64_t seed = 0; steps < 2 * kSteps / 5; ++seed) {
    Trial trial(seed, {.kills = true});
    steps += trial.run();
    ASSERT_LE(trial.decisions().size(), 1u) << "seed " << seed;
    ASSERT_TRUE(trial.is_decided_by(trial.members())) << "seed " << seed;
    for (const Decision& decision : trial.decisions()) {
      ASSERT_TRUE(trial.is_sound(decision)) << "seed " << seed;
      let_in += decision.let_in.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(let_in, 100);
}

TEST(SurvivorsVote, OnlyTheLargerSideOfACutNetworkGoesOn) {
  int steps = 0, decided = 0;
  for (std::uint64_t seed = 0; steps < kSteps / 5; ++seed) {
    Trial trial(seed, {.cuts = true});
    steps += trial.run();
    ASSERT_LE(trial.decisions().size(), 1u) << "seed " << seed;
    const std::vector<Rank> larger = trial.larger_side();
    ASSERT_TRUE(trial.is_decided_by(larger)) << "seed " << seed;
    decided += larger.empty() ? 0 : 1;
  }
  EXPECT_GT(decided, 100);
}

TEST(SurvivorsVote, NeverSplitsWhateverIsCutKilledAndGivenUpAtOnce) {
  int steps = 0;
  for (std::uint64_t seed = 0; steps < 2 * kSteps / 5; ++seed) {
    Trial trial(seed, {.kills = seed % 2 == 0, .cuts = seed % 4 < 2, .wrong_suspicions = seed % 3 != 0});
    steps += trial.run();
    ASSERT_LE(trial.decisions().size(), 1u) << "seed " << seed;
    for (const Decision& decision : trial.decisions())
      ASSERT_TRUE(trial.is_sound(decision)) << "seed " << seed;
  }
}

TEST(SurvivorsVote, LeavesOutWhoLeavesAndLetsInTheLeadersGuests) {
  const std::vector<Rank> members{Rank{0}, Rank{1}, Rank{2}};
  std::deque<std::tuple<Rank, Rank, SurvivorsVote::Message>> sent;
  std::vector<SurvivorsVote> votes;
  for (Rank self : members)
    votes.emplace_back(members, self, [&sent, self](Rank to, const SurvivorsVote::Message& message) {
      sent.emplace_back(self, to, message);
    });
  votes[0].come(true, {guest(9), guest(4)}, Rank{7});
  votes[1].come(false, {guest(5)}, Rank{7});
  votes[2].come(false, {}, Rank{7});
  for (; !sent.empty(); sent.pop_front()) {
    const auto [from, to, message] = sent.front();
    votes[at(to)].hear(from, message);
  }
  const Decision expected{{Rank{1}, Rank{2}, Rank{7}, Rank{8}}, numbered({guest(4), guest(9)}, 7)};
  for (const SurvivorsVote& vote : votes) EXPECT_EQ(vote.decided(), expected);
}

TEST(SurvivorsVote, LetsNobodyInWhereNobodyStays) {
  SurvivorsVote vote({Rank{3}}, Rank{3}, [](Rank, const SurvivorsVote::Message&) {});
  vote.come(true, {guest(1)}, Rank{4});
  EXPECT_EQ(vote.decided(), Decision{});
}

TEST(SurvivorsVote, TheLeaderKnowsWhoHasCome) {
  std::vector<std::pair<Rank, SurvivorsVote::Message>> sent;
  SurvivorsVote leader({Rank{2}, Rank{5}, Rank{9}}, Rank{2}, [](Rank, const SurvivorsVote::Message&) {});
  SurvivorsVote second({Rank{2}, Rank{5}, Rank{9}}, Rank{5},
                       [&](Rank to, const SurvivorsVote::Message& m) { sent.emplace_back(to, m); });
  leader.come(false, {}, Rank{10});
  second.come(false, {}, Rank{10});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent.front().first, Rank{2});
  leader.hear(Rank{5}, sent.front().second);
  EXPECT_EQ(leader.present(), (std::vector<Rank>{Rank{2}, Rank{5}}));
  EXPECT_FALSE(leader.decided());
}

}  // namespace
}  // namespace hemiola
