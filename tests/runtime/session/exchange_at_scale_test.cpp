// SPDX-License-Identifier: Apache-2.0
// An exchange in which everybody gets everybody's bytes: what it adds to these does not grow with the members.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "hemiola/runtime/session/dispatcher.hpp"
#include "hemiola/runtime/session/hosts/exchange_desk.hpp"
#include "hemiola/runtime/session/hosts/topics.hpp"

namespace hemiola {
namespace {

/// Of the first member, which hears at once; the others' messages to it pass by here, too. Outcomes are counted alone.
class CountingCourier final : public Courier {
 public:
  struct Sent {
    std::size_t messages = 0, bytes = 0;
  };

  void send(Rank, Topic topic, Bytes message) override {
    Sent& of_topic = sent[topic];
    ++of_topic.messages;
    of_topic.bytes += message.size();
    if (topic == kBringing) dispatcher_.deliver(self, topic, message);
  }
  void tell_all(Topic, Bytes) override {}
  std::unique_ptr<Subscription> subscribe(Topic topic, Handler handler) override {
    return self == Rank{0} ? dispatcher_.subscribe(topic, std::move(handler)) : nullptr;
  }

  Rank self{0};  ///< that sends now
  std::map<Topic, Sent> sent;

 private:
  Dispatcher dispatcher_;
};

/// A member stops to wait as soon as it has brought its bytes.
struct Stop {};

std::map<Topic, CountingCourier::Sent> exchange(int count, std::size_t bytes) {
  CountingCourier courier;
  std::vector<Rank> members;
  for (Rank member : indices<Rank>(count)) members.push_back(member);
  std::vector<std::unique_ptr<ExchangeDesk>> desks;
  for (Rank member : members) {
    courier.self = member;
    desks.push_back(std::make_unique<ExchangeDesk>(
        &courier, member,
        ExchangeDesk::Facts{[] { return std::vector<LostRank>(); }, [] { return std::vector<std::string>(); },
                            [] { return std::int64_t{0}; }}));
    EXPECT_THROW(desks.back()->exchange(members, "cards", Bytes(bytes), Deadline(60, [] { throw Stop(); })),
                 Stop);
  }
  return courier.sent;
}

TEST(ExchangeAtScale, AddsAFewBytesToThoseOfAMember) {
  constexpr std::size_t kBytes = 140;
  for (const int count : {8, 64}) {
    const auto n = at(count);
    auto sent = exchange(count, kBytes);
    EXPECT_EQ(sent[kBringing].messages, n);
    EXPECT_LE(sent[kBringing].bytes, n * (kBytes + 80));
    EXPECT_EQ(sent[kOutcome].messages, n);
    EXPECT_LE(sent[kOutcome].bytes, n * (n * (kBytes + 8) + 40));
  }
}

}  // namespace
}  // namespace hemiola
