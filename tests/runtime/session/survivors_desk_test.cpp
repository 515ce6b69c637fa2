// SPDX-License-Identifier: Apache-2.0
// Votes as they are packed: newcomers' cards come to all members, and an ill-formed vote is refused.
#include "hemiola/runtime/session/hosts/survivors_desk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/dispatcher.hpp"
#include "hemiola/runtime/session/hosts/topics.hpp"

namespace hemiola {
namespace {

struct Letter {
  Rank from, to;
  Topic topic;
  Bytes message;
};

struct Post {
  std::mutex mutex;
  std::deque<Letter> letters;
};

/// Puts down what it sends; the test delivers it.
class PostedCourier final : public Courier {
 public:
  PostedCourier(Post* post, Rank self) : post_(post), self_(self) {}

  void send(Rank to, Topic topic, Bytes message) override {
    const std::lock_guard lock(post_->mutex);
    post_->letters.push_back({self_, to, topic, std::move(message)});
  }
  void tell_all(Topic, Bytes) override {}
  std::unique_ptr<Subscription> subscribe(Topic topic, Handler handler) override {
    return dispatcher.subscribe(topic, std::move(handler));
  }

  Dispatcher dispatcher;

 private:
  Post* post_;
  const Rank self_;
};

struct Member {
  Member(Post* post, Rank self)
      : courier(post, self), desk(&courier, self, [] { return std::vector<LostRank>(); }) {}

  void hear(const Letter& letter, std::span<const std::byte> message) {
    courier.dispatcher.deliver(letter.from, letter.topic, message);
  }

  PostedCourier courier;
  SurvivorsDesk desk;
};

/// An agreement of members 0, 1, …, each of which brings its own; and all that was said.
struct Agreement {
  explicit Agreement(const std::vector<SurvivorsDesk::Ask>& asks) {
    std::vector<Rank> ranks;
    for (Rank rank : indices<Rank>(static_cast<int>(asks.size()))) ranks.push_back(rank);
    std::vector<std::unique_ptr<Member>> members;
    for (Rank rank : ranks) members.push_back(std::make_unique<Member>(&post, rank));
    std::vector<std::future<SurvivorsVote::Decision>> answers;
    for (Rank rank : ranks)
      answers.push_back(std::async(std::launch::async, [&members, &asks, ranks, rank] {
        return members[at(rank)]->desk.next_members(ranks, "test", asks[at(rank)], Deadline(60));
      }));
    for (auto& answer : answers) {
      while (answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
        while (const std::optional<Letter> letter = next()) {
          members[at(letter->to)]->hear(*letter, letter->message);
          said.push_back(*letter);
        }
      decisions.push_back(answer.get());
    }
  }

  std::optional<Letter> next() {
    const std::lock_guard lock(post.mutex);
    if (post.letters.empty()) return std::nullopt;
    Letter letter = std::move(post.letters.front());
    post.letters.pop_front();
    return letter;
  }

  Post post;
  std::vector<Letter> said;
  std::vector<SurvivorsVote::Decision> decisions;
};

Guest guest(std::uint64_t id, std::size_t card_bytes) {
  return {.id = id, .card = Bytes(card_bytes, std::byte(id))};
}

/// Of what a member has heard, the longest: a proposal or a decision with all its newcomers.
Letter longest(const Agreement& agreement) {
  return *std::ranges::max_element(agreement.said, {},
                                   [](const Letter& letter) { return letter.message.size(); });
}

TEST(SurvivorsDesk, NewcomersCardsComeToAllMembers) {
  const Rank next{5};
  const Agreement agreement(
      {{.leaves = true, .guests = {guest(~7ULL, 300), guest(3, 0)}, .next_number = next},
       {.guests = {guest(4, 1)}, .next_number = next},
       {.next_number = next}});
  SurvivorsVote::Decision expected{{Rank{1}, Rank{2}, Rank{5}, Rank{6}}, {guest(3, 0), guest(~7ULL, 300)}};
  expected.let_in[0].number = Rank{5};
  expected.let_in[1].number = Rank{6};
  for (const SurvivorsVote::Decision& decision : agreement.decisions) EXPECT_TRUE(decision == expected);
}

TEST(SurvivorsDesk, RefusesAVoteThatIsCutAnywhere) {
  const Agreement agreement({{.guests = {guest(1, 9), guest(2, 20)}, .next_number = Rank{2}}, {}});
  const Letter whole = longest(agreement);
  Post post;
  Member member(&post, whole.to);
  const std::span<const std::byte> message(whole.message);
  for (std::size_t bytes = 0; bytes < message.size(); ++bytes)
    EXPECT_THROW(member.hear(whole, message.first(bytes)), FormatError) << bytes;
  EXPECT_NO_THROW(member.hear(whole, message));
}

TEST(SurvivorsDesk, RefusesNumbersThatAreNotNew) {
  const Agreement agreement({{.guests = {guest(1, 9), guest(2, 20)}, .next_number = Rank{2}}, {}});
  Letter letter = longest(agreement);
  Post post;
  Member member(&post, letter.to);
  // The last guest: its number, the size of its card, and that.
  const auto number = letter.message.end() - 20 - 8 - 4;
  ASSERT_EQ(*number, std::byte{3});
  for (const int known : {0, 1, 2}) {
    *number = std::byte(known);
    EXPECT_THROW(member.hear(letter, letter.message), FormatError) << known;
  }
}

}  // namespace
}  // namespace hemiola
