// SPDX-License-Identifier: Apache-2.0
// What the engine has in flight where ports are real: messages of one step only, and so to one rank and from one,
// at most two each way in a weighted exchange. A receive is posted when its turn comes, which is the receiver's
// grant.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "hemiola/algorithms/slow/weighted_exchange.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/executor/host/engine.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola {
namespace {

class EverybodyIsWelcome : public Supervisor {
 public:
  bool admits(Rank) override { return true; }
  void check() override {
    if (std::chrono::steady_clock::now() > deadline_) throw TimeoutError("the test's engine is stuck");
  }

 private:
  std::chrono::steady_clock::time_point deadline_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
};

/// Notes, at each post, how many messages of that direction are in flight and with how many peers.
class WatchedWire : public testing::InProcessWire {
 public:
  using InProcessWire::InProcessWire;

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override {
    return sends_.note(*this, dst, InProcessWire::send(dst, data, bytes, source));
  }
  Request receive(Rank src, const Landing& landing, std::size_t bytes) override {
    return receives_.note(*this, src, InProcessWire::receive(src, landing, bytes));
  }

  struct Port {
    std::vector<std::pair<Rank, Request>> in_flight;
    std::vector<Rank> partners;  ///< in the order of posts
    std::size_t most_messages = 0;
    int most_peers = 0;

    Request note(const InProcessWire& wire, Rank peer, Request request) {
      std::erase_if(in_flight, [&](const auto& message) { return wire.done(message.second); });
      in_flight.emplace_back(peer, request);
      if (partners.empty() || partners.back() != peer) partners.push_back(peer);
      most_messages = std::max(most_messages, in_flight.size());
      const bool is_one_peer =
          std::all_of(in_flight.begin(), in_flight.end(), [&](const auto& m) { return m.first == peer; });
      most_peers = std::max(most_peers, is_one_peer ? 1 : 2);
      return request;
    }
  };
  const Port& sends() const { return sends_; }
  const Port& receives() const { return receives_; }

 private:
  Port sends_, receives_;
};

constexpr int kRanks = 5;
constexpr std::int64_t kElements = 420;

void run_rank(const Schedule& schedule, Rank rank, WatchedWire* wire) {
  CompileOptions options;
  options.block_elements = kElements;
  options.element_bytes = sizeof(std::int64_t);
  options.rules = {.slice_bytes = 1 << 20, .join_bytes = 0, .pack_bytes = 0};
  options.in_place = true;
  options.land_at_once = true;
  const Program program = compile(schedule, rank, options);
  std::vector<std::int64_t> buffer(kElements, rank + 1);
  auto* const bytes = reinterpret_cast<std::byte*>(buffer.data());
  EverybodyIsWelcome supervisor;
  Engine engine(wire, {.groups_in_flight = 1, .waiting = {50, 50, 50}});
  engine.execute(program, {bytes, bytes}, {DType::int64, Op::sum, 1}, &supervisor);
  EXPECT_EQ(buffer, std::vector<std::int64_t>(kElements, kRanks * (kRanks + 1) / 2));
}

class SendingRule : public ::testing::TestWithParam<testing::InProcessOptions> {};

TEST_P(SendingRule, OneStepAtATimeIsInFlightEachWay) {
  constexpr int kSegments = 3;
  const Schedule schedule = algorithms::all_reduce_weighted_exchange(kRanks, {1.5, 1, 1, 1, 1}, kSegments);
  const testing::Mailboxes mailboxes = testing::mailboxes_for(kRanks);
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(kRanks))
    threads.emplace_back([&, rank] {
      WatchedWire wire(mailboxes, rank, GetParam());
      run_rank(schedule, rank, &wire);
      // Given one message a round, to the rank d ahead in round d, and from the rank d behind.
      std::vector<Rank> ahead, behind;
      for (int body = 0; body <= kSegments; ++body)
        for (int round = 1; round < kRanks; ++round) {
          ahead.push_back(Rank{(rank + round) % kRanks});
          behind.push_back(Rank{(rank + kRanks - round) % kRanks});
        }
      EXPECT_EQ(wire.sends().partners, ahead);
      EXPECT_EQ(wire.receives().partners, behind);
      for (const WatchedWire::Port& port : {wire.sends(), wire.receives()}) {
        EXPECT_EQ(port.most_peers, 1);
        EXPECT_LE(port.most_messages, 2u);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Wires, SendingRule,
                         ::testing::Values(testing::InProcessOptions{.rendezvous = true, .seed = 1},
                                           testing::InProcessOptions{.seed = 2, .laziness = 7},
                                           testing::InProcessOptions{
                                               .rendezvous = true, .seed = 3, .laziness = 9}));

}  // namespace
}  // namespace hemiola
