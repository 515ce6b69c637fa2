// SPDX-License-Identifier: Apache-2.0
// The roll of ranks without common memory, over couriers that a test moves by hand.
#include "hemiola/runtime/control/hosts/hosts_roll.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "contracts/on_threads.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/session/dispatcher.hpp"

namespace hemiola::testing {
namespace {

/// Hands on what a rank has sent when the test says so, and to itself first, as a sideband does.
class CourierByHand final : public Courier {
 public:
  CourierByHand(Rank self, std::vector<std::unique_ptr<CourierByHand>>* all) : self_(self), all_(all) {}

  void send(Rank to, Topic topic, Bytes message) override {
    sent_.push_back({self_, to, topic, std::move(message)});
  }
  void tell_all(Topic, Bytes) override {}
  std::unique_ptr<Subscription> subscribe(Topic topic, Handler handler) override {
    return dispatcher_.subscribe(topic, std::move(handler));
  }

  /// A round of the courier's thread. Returns whether there was anything to do.
  bool move() {
    const auto sent = std::exchange(sent_, {}), come = std::exchange(come_, {});
    for (const Letter& letter : sent)
      letter.to == self_ ? deliver(letter)
                         : (*all_)[static_cast<std::size_t>(letter.to)]->come_.push_back(letter);
    for (const Letter& letter : come) deliver(letter);
    return !sent.empty() || !come.empty();
  }

 private:
  struct Letter {
    Rank from, to;
    Topic topic;
    Bytes message;
  };
  void deliver(const Letter& letter) { dispatcher_.deliver(letter.from, letter.topic, letter.message); }

  const Rank self_;
  std::vector<std::unique_ptr<CourierByHand>>* const all_;
  Dispatcher dispatcher_;
  std::deque<Letter> sent_, come_;
};

/// One operation by words alone, in which perhaps one rank complains. A rank's roll ends as soon as it knows all or the complaint,
/// and that of the complaining rank as soon as it has said so. Expect, for couriers and ranks in any order, that all others
/// learn as much: a rank that leaves owes nobody a word.
TEST(HostsRoll, OwesNobodyAWordOnceItsRankIsThrough) {
  constexpr int kRanks = 3;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Rank complaining{static_cast<int>(random.below(kRanks + 1)) - 1};
    std::vector<std::unique_ptr<CourierByHand>> couriers;
    for (Rank rank : all_ranks(kRanks)) couriers.push_back(std::make_unique<CourierByHand>(rank, &couriers));
    std::vector<std::unique_ptr<hosts::HostsRoll>> rolls;
    for (Rank rank : all_ranks(kRanks)) {
      const auto index = static_cast<std::size_t>(rank);
      const auto talk = std::make_shared<const hosts::Talk>(Members{nullptr, all_ranks(kRanks), rank},
                                                            couriers[index].get(), Topic{2});
      rolls.push_back(std::make_unique<hosts::HostsRoll>(talk, std::make_shared<hosts::Progress>(kRanks)));
    }
    enum class Said : std::uint8_t { nothing, word, call };
    std::vector<Said> said(kRanks, Said::nothing);
    const auto is_through = [&](Rank self, const hosts::HostsRoll& roll) {
      if (self == complaining) return said[static_cast<std::size_t>(self)] == Said::call;
      bool knows_all = true;
      for (Rank rank : all_ranks(kRanks)) knows_all &= rank == self || roll.has_arrived(rank, 0);
      return knows_all || (complaining >= 0 && roll.has_arrived(complaining, 0));
    };
    constexpr int kQuiet = 100;  // as many looks in a row find nothing to do
    for (int quiet = 0; quiet < kQuiet; ++quiet) {
      const Rank rank{random.below(kRanks)};
      const auto index = static_cast<std::size_t>(rank);
      auto& roll = rolls[index];
      if (random.below(2) == 0) {
        if (couriers[index]->move()) quiet = 0;
      } else if (roll && said[index] != Said::call) {
        quiet = 0;
        if (said[index] == Said::nothing)
          roll->publish(0, {Signature{}, rank == complaining ? "no such thing" : ""});
        else
          roll->call(0);
        said[index] = said[index] == Said::nothing ? Said::word : Said::call;
      }
      if (roll && said[index] != Said::nothing && is_through(rank, *roll)) roll.reset();
    }
    for (Rank rank : all_ranks(kRanks))
      EXPECT_EQ(rolls[static_cast<std::size_t>(rank)], nullptr) << "rank " << rank << " waits, seed " << seed;
  }
}

}  // namespace
}  // namespace hemiola::testing
