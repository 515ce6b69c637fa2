// SPDX-License-Identifier: Apache-2.0
// Several wires as one: whoever waits is woken by each of them.
#include "hemiola/runtime/wire/routed/routed_wire.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "contracts/connect_wire.hpp"
#include "contracts/local_sessions.hpp"
#include "contracts/wire_kinds.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/routed/routed_kind.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"

namespace hemiola::testing {
namespace {

constexpr int kTenMinutes_us = 10 * 60 * 1'000'000;

/// Ranks 0 and 1 share memory, 2 is elsewhere.
std::shared_ptr<WireKind> routed() {
  return std::make_shared<RoutedKind>(std::vector<std::shared_ptr<WireKind>>{
      std::make_shared<Among>(std::vector<Rank>{Rank{0}, Rank{1}}, std::make_shared<ShmKind>(true)),
      std::make_shared<TcpOverLoopback>("127.0.0.1", 1)});
}

void on_routed(const std::function<void(Wire&, Rank)>& body) {
  const auto sessions = local_sessions(3);
  on_threads(3, [&](Rank rank) {
    const Members members{sessions[static_cast<std::size_t>(rank)], all_ranks(3), rank};
    body(*connect_wire(routed, members, Deadline(60)), rank);
  });
}

void finish(Wire& wire, Request request) {
  while (!wire.done(request))
    if (!wire.progress()) wire.wait(kTenMinutes_us);
  wire.progress();
}

/// A word goes round, in both directions in turn, so each rank waits now for one wire, now for the other.
/// Whoever slept through one would do so for ten minutes.
TEST(RoutedWire, WhoeverSleepsIsWokenByEveryWire) {
  on_routed([](Wire& wire, Rank self) {
    const Rank next{(self + 1) % 3}, before{(self + 2) % 3};
    for (int round = 0; round < 300; ++round) {
      const Rank to = round % 2 == 0 ? next : before, from = round % 2 == 0 ? before : next;
      const bool is_big = round % 50 == 7;
      Bytes word(is_big ? 300'000 : 8, std::byte(round)), heard(word.size());
      if (self == Rank{0}) finish(wire, wire.send(to, word.data(), word.size()));
      finish(wire, wire.receive(from, {.dst = heard.data()}, heard.size()));
      ASSERT_EQ(heard, word);
      if (self != Rank{0}) finish(wire, wire.send(to, word.data(), word.size()));
    }
  });
}

TEST(RoutedWire, SaysByWhichPortEachPeerIsReached) {
  on_routed([](Wire& wire, Rank self) {
    const std::vector<int> ports = self == Rank{2} ? std::vector<int>{1, 1, 0} : std::vector<int>{0, 0, 1};
    EXPECT_EQ(wire.traits().ports.sending, ports) << self;
    EXPECT_EQ(wire.traits().ports.receiving, ports) << self;
    EXPECT_EQ(wire.traits().messages.slice_bytes, 128 << 10) << "both ends of a pair cut alike";
  });
}

/// Ranks 1 and 2 share memory, where they are 0 and 1. Expect the sender's number in the group.
TEST(RoutedWire, NamesTheSenderOfAMessageThatDoesNotFit) {
  const auto kinds = [] {
    return std::make_shared<RoutedKind>(std::vector<std::shared_ptr<WireKind>>{
        std::make_shared<Among>(std::vector<Rank>{Rank{1}, Rank{2}}, std::make_shared<ShmKind>(true)),
        std::make_shared<TcpOverLoopback>("127.0.0.1", 1)});
  };
  const auto sessions = local_sessions(3);
  on_threads(3, [&](Rank self) {
    const auto wire =
        connect_wire(kinds, {sessions[static_cast<std::size_t>(self)], all_ranks(3), self}, Deadline(60));
    Bytes bytes(10);
    if (self == Rank{1}) finish(*wire, wire->send(Rank{2}, bytes.data(), 10));
    if (self != Rank{2}) return;
    wire->receive(Rank{1}, {.dst = bytes.data()}, 9);
    for (const bool sleeps : {false, true}) try {
        for (const Deadline deadline(60); !deadline.passed();)
          sleeps ? wire->wait(1000) : void(wire->progress());
        ADD_FAILURE() << "10 bytes have come where 9 were expected";
      } catch (const BadMessageError& e) {
        EXPECT_EQ(e.sender, Rank{1}) << e.what();
      }
  });
}

/// A message by shared memory from 0 to 1, one by TCP from 2. Expect the peer's number in the group, and not in the inner wire.
TEST(RoutedWire, NamesThePeerOfAForeignMessageWhicheverWireHasBroughtIt) {
  for (const Rank odd : {Rank{0}, Rank{2}})
    on_routed([&](Wire& wire, Rank self) {
      EXPECT_TRUE(wire.traits().carries_signatures);
      wire.begin_operation({1, 0, self == odd ? 7u : 8u});
      std::byte out{};
      if (self == odd) finish(wire, wire.send(Rank{1}, &out, 1));
      if (self != Rank{1}) return;
      while (!wire.mismatch())
        if (!wire.progress()) wire.wait(1000);
      EXPECT_EQ(wire.mismatch()->peer, odd);
      EXPECT_EQ(wire.mismatch()->tag, (OperationTag{1, 0, 7}));
    });
}

TEST(RoutedWire, SaysWhatCarriesTheMessagesOfEachPeer) {
  on_routed([](Wire& wire, Rank self) {
    for (Rank peer : all_ranks(3)) {
      if (peer == self) continue;
      EXPECT_EQ(wire.carrier(peer), self != Rank{2} && peer != Rank{2} ? "shm" : "tcp");
    }
  });
}

TEST(RoutedKind, SaysWhatItChoosesFromAndRefusesNothing) {
  EXPECT_EQ(routed()->name(), "shm, else tcp over loopback");
  EXPECT_THROW(RoutedKind({}), ArgumentError);
}

/// No kind reaches from rank 2 to the others, and nothing else is tried.
TEST(RoutedKind, WhomNoKindReachesIsNamed) {
  const auto sessions = local_sessions(3);
  on_threads(3, [&](Rank rank) {
    const auto choose = [] {
      return std::make_shared<RoutedKind>(std::vector<std::shared_ptr<WireKind>>{
          std::make_shared<Among>(std::vector<Rank>{Rank{0}, Rank{1}}, std::make_shared<ShmKind>())});
    };
    const Members members{sessions[static_cast<std::size_t>(rank)], all_ranks(3), rank};
    EXPECT_THROW(connect_wire(choose, members, Deadline(60)), ArgumentError);
  });
}

/// Rank 1 gives another order, then other terms. Expect all to be told, and nobody to wait for a wire.
TEST(WireKind, MembersThatCountOtherwiseOrHaveOtherTermsAreAllTold) {
  const auto sessions = local_sessions(3);
  on_threads(3, [&](Rank rank) {
    const WireChoice choose = [] { return std::make_shared<ShmKind>(); };
    for (const bool differs_in_order : {true, false}) {
      Members members{sessions[static_cast<std::size_t>(rank)], all_ranks(3), rank};
      if (rank == Rank{1} && differs_in_order) std::swap(members.ranks[0], members.ranks[2]);
      const bool is_odd = rank == Rank{1} && !differs_in_order;
      const std::string terms = is_odd ? "group=one\nkeep_inputs=True" : "group=one\nkeep_inputs=False";
      try {
        connect_wires({.choices = std::span(&choose, 1), .terms = terms}, &members, Deadline(60));
        ADD_FAILURE() << "rank " << rank << " was told nothing";
      } catch (const MismatchError& e) {
        const std::string expected =
            differs_in_order
                ? "rank 0 makes a communicator of ranks 0, 1 and 2, rank 1 one of ranks 2, 1 and 0"
                : "rank 0 passed keep_inputs=False, rank 1 keep_inputs=True";
        EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
      }
    }
  });
}

}  // namespace
}  // namespace hemiola::testing
