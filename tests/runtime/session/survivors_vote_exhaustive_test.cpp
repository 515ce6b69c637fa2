// SPDX-License-Identifier: Apache-2.0
// Everything that can happen in agreements of two and three members, in every order: one that leaves, guests that differ,
// a crash at any instant with what was sent cut off anywhere, a wrong suspicion. All decisions are the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hemiola/runtime/session/hosts/survivors_vote.hpp"

namespace hemiola {
namespace {

using Decision = SurvivorsVote::Decision;
using Way = std::pair<Rank, Rank>;
/// Nothing: the end of the connection.
using Letter = std::optional<SurvivorsVote::Message>;
using Outbox = std::vector<std::pair<Way, SurvivorsVote::Message>>;

struct Case {
  int members;
  std::set<Rank> leavers;
  int crashes = 0, suspicions = 0;
};

struct Event {
  enum class Kind : char { come = 'c', hear = 'h', suspect = 's', crash = 'd', finish = 'f' } kind;
  Rank who, whom{-1};
  std::vector<std::size_t> kept{};  ///< of a crash: how many letters on the way to each member still arrive
};

/// What has happened so far. Members' states follow from what has happened to each, which tells worlds apart.
class World {
 public:
  explicit World(const Case& what)
      : left_(what), outbox_(std::make_shared<Outbox>()), is_suspicious_(what.suspicions > 0) {
    for (Rank member : indices<Rank>(what.members)) members_.push_back(member);
    for (Rank self : members_)
      nodes_.push_back({SurvivorsVote(members_, self, [outbox = outbox_, self](Rank to, const auto& message) {
        outbox->push_back({{self, to}, message});
      })});
  }

  std::vector<Event> possible() const {
    std::vector<Event> events;
    for (Rank who : members_) {
      const Node& node = nodes_[at(who)];
      if (!node.has_come && lives(who)) events.push_back({Event::Kind::come, who});
      if (is_suspicious_ && lives(who) && node.vote.decided()) events.push_back({Event::Kind::finish, who});
      if (left_.crashes > 0 && !node.is_dead) add_crashes(who, {}, &events);
      for (Rank whom : members_) {
        if (const auto way = ways_.find({whom, who}); way != ways_.end() && !way->second.empty())
          events.push_back({Event::Kind::hear, who, whom});
        if (left_.suspicions > 0 && who != whom && lives(who) && node.vote.living().contains(whom))
          events.push_back({Event::Kind::suspect, who, whom});
      }
    }
    return events;
  }

  void happen(const Event& event) {
    Node& node = nodes_[at(event.who)];
    node.history += static_cast<char>(event.kind);
    node.history += static_cast<char>('0' + event.whom);
    for (const std::size_t kept : event.kept) node.history += static_cast<char>('0' + kept);
    switch (event.kind) {
      case Event::Kind::come:
        node.has_come = true;
        node.vote.come(left_.leavers.contains(event.who), guests_of(event.who), Rank{left_.members});
        break;
      case Event::Kind::hear:
        hear(event.who, event.whom);
        break;
      case Event::Kind::suspect:
        --left_.suspicions;
        node.vote.lose(event.whom, Evidence::suspicion);
        break;
      case Event::Kind::crash:
        --left_.crashes;
        for (Rank to : members_) ways_[{event.who, to}].resize(event.kept[at(to)]);
        [[fallthrough]];
      case Event::Kind::finish:
        node.is_dead = true;
        for (Rank to : members_)
          if (to != event.who) ways_[{event.who, to}].push_back(std::nullopt);
    }
    for (auto& [way, message] : *outbox_) ways_[way].push_back(std::move(message));
    outbox_->clear();
    for (auto& [way, letters] : ways_)
      if (!lives(way.second)) letters.clear();
  }

  std::string key() const {
    std::string key;
    for (const Node& node : nodes_) key += node.history + '/';
    return key;
  }
  std::vector<Decision> decisions() const {
    std::vector<Decision> decisions;
    for (const Node& node : nodes_)
      if (auto decided = node.vote.decided()) decisions.push_back(std::move(*decided));
    return decisions;
  }
  /// Nothing can happen any more but accidents.
  bool is_quiet() const {
    return std::ranges::all_of(ways_, [](const auto& way) { return way.second.empty(); }) &&
           std::ranges::all_of(members_, [&](Rank one) { return !lives(one) || nodes_[at(one)].has_come; });
  }
  bool all_that_live_have_decided() const {
    return std::ranges::all_of(members_,
                               [&](Rank one) { return !lives(one) || nodes_[at(one)].vote.decided(); });
  }
  /// Whether it leaves out who leaves, and lets in all guests of one member.
  bool is_sound(const Decision& decision) const {
    const auto stays = [&](Rank one) { return std::ranges::binary_search(decision.members, one); };
    if (std::ranges::none_of(members_, stays)) return decision.let_in.empty();
    return std::ranges::none_of(left_.leavers, stays) &&
           std::ranges::any_of(members_, [&](Rank one) { return guests_of(one) == decision.let_in; });
  }

 private:
  struct Node {
    SurvivorsVote vote;
    bool has_come = false, is_dead = false;
    std::string history{};
  };

  bool lives(Rank one) const { return !nodes_[at(one)].is_dead && !nodes_[at(one)].vote.is_given_up(); }

  /// In order, with their numbers; the last member knows of none.
  std::vector<Guest> guests_of(Rank member) const {
    std::vector<Guest> guests;
    for (int i = 0; i + 1 + member < left_.members; ++i)
      guests.push_back({.id = static_cast<std::uint64_t>(10 * (member + 1) + i),
                        .number = Rank{left_.members + i},
                        .card = Bytes(1, std::byte{7})});
    return guests;
  }

  void hear(Rank who, Rank from) {
    const Letter letter = ways_[{from, who}].front();
    ways_[{from, who}].pop_front();
    if (letter)
      nodes_[at(who)].vote.hear(from, *letter);
    else
      nodes_[at(who)].vote.lose(from, Evidence::seen);
  }

  void add_crashes(Rank who, std::vector<std::size_t> kept, std::vector<Event>* events) const {
    if (kept.size() == members_.size())
      return events->push_back({Event::Kind::crash, who, Rank{-1}, std::move(kept)});
    const auto way = ways_.find({who, members_[kept.size()]});
    const std::size_t sent = way != ways_.end() ? way->second.size() : 0;
    kept.push_back(0);
    for (std::size_t arrive = 0; arrive <= sent; ++arrive) {
      kept.back() = arrive;
      add_crashes(who, kept, events);
    }
  }

  Case left_;
  std::vector<Rank> members_;
  std::shared_ptr<Outbox> outbox_;  ///< empty but within `happen`, so that copies may share it
  bool is_suspicious_;
  std::vector<Node> nodes_;
  std::map<Way, std::deque<Letter>> ways_;
};

/// All worlds that can follow one. Failures name what has happened to each member.
class Exploration {
 public:
  explicit Exploration(bool must_end) : must_end_(must_end) {}

  void explore(const World& world) {
    if (::testing::Test::HasFatalFailure() || !known_.insert(world.key()).second) return;
    check(world);
    for (const Event& event : world.possible()) {
      World next = world;
      next.happen(event);
      explore(next);
    }
  }
  std::size_t count() const { return known_.size(); }

 private:
  void check(const World& world) const {
    const std::vector<Decision> decisions = world.decisions();
    for (const Decision& decision : decisions) {
      ASSERT_TRUE(decision == decisions.front()) << world.key();
      ASSERT_TRUE(world.is_sound(decision)) << world.key();
    }
    if (must_end_ && world.is_quiet()) {
      ASSERT_TRUE(world.all_that_live_have_decided()) << world.key();
    }
  }

  const bool must_end_;  ///< where nothing more can happen, all that live have decided
  std::unordered_set<std::string> known_;
};

void explore_all(const Case& what, std::size_t least_worlds) {
  Exploration all(what.suspicions == 0);
  all.explore(World(what));
  EXPECT_GT(all.count(), least_worlds);
}

TEST(SurvivorsVoteExhaustively, DecidesTheSameForAllThatLiveWhoeverCrashesWhenever) {
  explore_all({.members = 2, .leavers = {Rank{0}}, .crashes = 1}, 50);
  explore_all({.members = 2, .leavers = {Rank{0}, Rank{1}}, .crashes = 1}, 50);
  explore_all({.members = 3, .leavers = {Rank{0}}, .crashes = 1}, 10'000);
  explore_all({.members = 3, .leavers = {Rank{1}}, .crashes = 2}, 10'000);
}

TEST(SurvivorsVoteExhaustively, NeverSplitsWhoeverIsGivenUpWhenever) {
  explore_all({.members = 2, .leavers = {Rank{0}}, .suspicions = 1}, 100);
  explore_all({.members = 2, .leavers = {Rank{1}}, .suspicions = 2}, 100);
  explore_all({.members = 3, .leavers = {Rank{1}}, .suspicions = 1}, 100'000);
}

}  // namespace
}  // namespace hemiola
