// SPDX-License-Identifier: Apache-2.0
// What every wire promises (see Wire), whatever moves the bytes. A test file instantiates the suite for its kinds:
//   INSTANTIATE_TEST_SUITE_P(Shm, WireContract, ::testing::Values(WireCase{…}), name_of_wire);
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "connect_wire.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/executor/host/combine.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/wire/wire_kind.hpp"
#include "on_threads.hpp"

namespace hemiola::testing {

struct WireCase {
  std::string name;
  std::function<std::vector<std::shared_ptr<Session>>(int rank_count)> sessions;  ///< one per rank
  /// One rank's, for groups of at most kMostRanks ranks.
  std::function<std::shared_ptr<WireKind>()> kind;
  bool tells_who_has_left = false;     ///< whether it notices that a peer has given its wire away
  std::string (*why_not)() = nullptr;  ///< what is missing here for this wire; empty where nothing is
  /// Where ranks are processes: runs the body on so many of them. Tests that move all wires in one thread are left out.
  std::function<void(int rank_count, const std::function<void(Wire&, Rank)>& body)> on_processes = {};

  static constexpr int kMostRanks = 3;
};

inline std::string name_of_wire(const ::testing::TestParamInfo<WireCase>& info) {
  return info.param.name;
}

class WireContract : public ::testing::TestWithParam<WireCase> {
 protected:
  using Wires = std::vector<std::unique_ptr<Wire>>;

  static Wires connect(int rank_count) {
    HEMIOLA_CHECK(!GetParam().on_processes,
                  "a test that is not among those that need all ranks in one process");
    const auto sessions = GetParam().sessions(rank_count);
    Wires wires(static_cast<std::size_t>(rank_count));
    on_threads(rank_count, [&](Rank rank) {
      const Members members{sessions[static_cast<std::size_t>(rank)], all_ranks(rank_count), rank};
      wires[static_cast<std::size_t>(rank)] = connect_wire(GetParam().kind, members, Deadline(60));
    });
    return wires;
  }

  void SetUp() override {
    const std::string missing = GetParam().why_not != nullptr ? GetParam().why_not() : "";
    if (!missing.empty()) GTEST_SKIP() << missing;
    if (!GetParam().on_processes) return;
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const char* const each : {"AMessageThatDoesNotFit", "AMessageOfAnother", "AMessageOfALater",
                                   "WaitingEnds", "ProgressWithNothing", "AResetDrops",
                                   "RanksUnderstandEachOther", "APeerThatHasLeft", "ASlowerNetwork"})
      if (name.starts_with(each)) GTEST_SKIP() << "needs all ranks in one process";
  }

  static void on_ranks(int rank_count, const std::function<void(Wire&, Rank)>& body) {
    if (GetParam().on_processes) return GetParam().on_processes(rank_count, body);
    const Wires wires = connect(rank_count);
    on_threads(rank_count, [&](Rank rank) { body(*wires[static_cast<std::size_t>(rank)], rank); });
  }

  static void finish(Wire& wire, const std::vector<Request>& requests) {
    for (Request request : requests)
      for (int idle = 0; !wire.done(request);) {
        idle = wire.progress() ? 0 : idle + 1;
        if (idle > 100) wire.wait(1000);
      }
    wire.progress();  // nothing more follows from what happened last, which a wire may be waiting to know
  }

  /// Lets all wires of one thread move for a while.
  static void settle(const Wires& wires) {
    for (int round = 0; round < 200; ++round)
      for (const auto& wire : wires) wire->progress();
  }

  /// Message `number` from `src` to `dst`: bytes that tell all of these and their place.
  static Bytes message(Rank src, Rank dst, std::size_t number, std::size_t bytes) {
    Bytes data(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      data[i] =
          static_cast<std::byte>(i * 7 + i / 251 + number * 31 + static_cast<std::size_t>(src * 5 + dst));
    return data;
  }
};

TEST_P(WireContract, MessagesOfEverySizeArriveAndNothingBesideThemIsTouched) {
  const std::vector<std::size_t> sizes{0,     1,     47,    48,      49,        63,      64, 65, 4096,
                                       32767, 32768, 32769, 262'080, 1'000'003, 262'144, 0,  5};
  on_ranks(2, [&](Wire& wire, Rank rank) {
    const Rank other{1 - rank};
    for (std::size_t n = 0; n < sizes.size(); ++n) {
      const Bytes out = message(rank, other, n, sizes[n]);
      Bytes in(sizes[n] + 2, std::byte{0xee});
      const Request sent = wire.send(other, out.data(), sizes[n]);
      finish(wire, {wire.receive(other, {.dst = in.data() + 1}, sizes[n]), sent});
      EXPECT_EQ(in.front(), std::byte{0xee});
      EXPECT_EQ(in.back(), std::byte{0xee});
      EXPECT_EQ(Bytes(in.begin() + 1, in.end() - 1), message(other, rank, n, sizes[n]))
          << sizes[n] << " bytes";
    }
  });
}

TEST_P(WireContract, MessagesArriveInOrderHoweverManyAreUnderWayAndDoneStaysTrue) {
  constexpr std::size_t kCount = 200, kSize = 3000;
  on_ranks(2, [&](Wire& wire, Rank rank) {
    std::vector<Bytes> data;
    std::vector<Request> requests;
    for (std::size_t n = 0; n < kCount; ++n)
      data.push_back(rank == Rank{0} ? message(Rank{0}, Rank{1}, n, kSize + n) : Bytes(kSize + n));
    for (Bytes& d : data)
      requests.push_back(rank == Rank{0} ? wire.send(Rank{1}, d.data(), d.size())
                                         : wire.receive(Rank{0}, {.dst = d.data()}, d.size()));
    finish(wire, {requests.rbegin(), requests.rend()});
    for (Request request : requests) EXPECT_TRUE(wire.done(request));
    for (std::size_t n = 0; n < kCount; ++n) EXPECT_EQ(data[n], message(Rank{0}, Rank{1}, n, kSize + n)) << n;
  });
}

TEST_P(WireContract, AnOlderMessageIsNotDoneLaterThanANewerOne) {
  on_ranks(2, [&](Wire& wire, Rank rank) {
    std::vector<Bytes> data(20, Bytes(50'000));
    std::vector<Request> requests;
    for (Bytes& d : data)
      requests.push_back(rank == Rank{0} ? wire.send(Rank{1}, d.data(), d.size())
                                         : wire.receive(Rank{0}, {.dst = d.data()}, d.size()));
    while (!wire.done(requests.back())) {
      for (std::size_t n = requests.size(); n-- > 1;) {
        if (!wire.done(requests[n])) continue;
        EXPECT_TRUE(wire.done(requests[n - 1]));
      }
      if (!wire.progress()) wire.wait(100);
    }
    wire.progress();
  });
}

/// Sizes down to 0, more messages than any window holds, between all pairs, in a random order of posting.
TEST_P(WireContract, RandomTrafficBetweenAllPairsComesToWhereItBelongs) {
  constexpr int kRanks = 3;
  constexpr std::size_t kRounds = 40;
  const std::uint64_t seed = 2024;
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto size_of = [&](Rank src, Rank dst, std::size_t n) -> std::size_t {
    Random random(seed + 1000 * n + static_cast<std::uint64_t>(10 * src + dst));
    return random.below(10) == 0 ? random.below(100'000) : random.below(500);
  };
  on_ranks(kRanks, [&](Wire& wire, Rank rank) {
    std::vector<Bytes> out, in;
    std::vector<Request> requests;
    out.reserve(kRounds * kRanks);
    in.reserve(kRounds * kRanks);
    for (std::size_t n = 0; n < kRounds; ++n)
      for (int shift = 1; shift < kRanks; ++shift) {
        const Rank dst{(rank + shift) % kRanks}, src{(rank + kRanks - shift) % kRanks};
        out.push_back(message(rank, dst, n, size_of(rank, dst, n)));
        in.emplace_back(size_of(src, rank, n));
        requests.push_back(wire.send(dst, out.back().data(), out.back().size()));
        requests.push_back(wire.receive(src, {.dst = in.back().data()}, in.back().size()));
        if (n % 3 == 0) wire.progress();
      }
    finish(wire, requests);
    for (std::size_t n = 0, at = 0; n < kRounds; ++n)
      for (int shift = 1; shift < kRanks; ++shift, ++at) {
        const Rank src{(rank + kRanks - shift) % kRanks};
        EXPECT_EQ(in[at], message(src, rank, n, size_of(src, rank, n))) << "message " << n << " from " << src;
      }
  });
}

/// Where the sum goes: to the operand's place, and to another.
TEST_P(WireContract, WhatArrivesIsCombinedWithTheOperand) {
  for (const std::size_t count : {1u, 3u, 11u, 12u, 13u, 5000u, 200'001u})
    on_ranks(2, [&](Wire& wire, Rank rank) {
      const Rank other{1 - rank};
      std::vector<float> own(count), apart(count, -1.0F);
      for (std::size_t i = 0; i < count; ++i)
        own[i] = static_cast<float>(i % 1000) * static_cast<float>(rank + 1);
      const std::vector<float> sent = own;
      const std::size_t bytes = count * sizeof(float);
      const Combine sum = combine_for(DType::float32, Op::sum);
      auto* const own_bytes = reinterpret_cast<std::byte*>(own.data());
      const auto* const sent_bytes = reinterpret_cast<const std::byte*>(sent.data());
      std::vector<Request> requests{wire.send(other, sent_bytes, bytes), wire.send(other, sent_bytes, bytes)};
      requests.push_back(
          wire.receive(other, {reinterpret_cast<std::byte*>(apart.data()), sent_bytes, sum}, bytes));
      requests.push_back(wire.receive(other, {own_bytes, own_bytes, sum}, bytes));
      finish(wire, requests);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(apart[i], 3 * static_cast<float>(i % 1000)) << i << " of " << count;
        ASSERT_EQ(own[i], apart[i]) << i << " of " << count;
      }
    });
}

TEST_P(WireContract, AReceiverLearnsTheSizeAndTheRestOfItsRoomIsUntouched) {
  constexpr std::size_t kCapacity = 100'000;
  on_ranks(2, [&](Wire& wire, Rank rank) {
    const Rank other{1 - rank};
    for (const std::size_t bytes : {0u, 1u, 48u, 49u, 4096u, 40'000u, 40'000u, 100'000u}) {
      const Bytes out = message(rank, other, bytes, bytes);
      Bytes in(kCapacity, std::byte{0xee});
      std::size_t received = kCapacity + 1;
      const Request sent = wire.send(other, out.data(), bytes);
      finish(wire, {wire.receive(other, {.dst = in.data(), .received = &received}, kCapacity), sent});
      ASSERT_EQ(received, bytes);
      EXPECT_EQ(Bytes(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(bytes)),
                message(other, rank, bytes, bytes));
      EXPECT_EQ(Bytes(in.begin() + static_cast<std::ptrdiff_t>(bytes), in.end()),
                Bytes(kCapacity - bytes, std::byte{0xee}));
    }
  });
}

TEST_P(WireContract, WhatGoesToAPeerAndComesFromItIsCountedToTheByte) {
  constexpr std::size_t kSizes[] = {0, 1, 48, 4096, 100'000};
  on_ranks(2, [&](Wire& wire, Rank rank) {
    const Rank other{1 - rank};
    Payload expected = wire.payload(other);
    for (const std::size_t bytes : kSizes) {
      const std::size_t coming = bytes * static_cast<std::size_t>(rank + 1);  // rank 0 sends twice as much
      const Bytes out(bytes * static_cast<std::size_t>(2 - rank), std::byte{1});
      Bytes in(coming);
      const Request sent = wire.send(other, out.data(), out.size());
      finish(wire, {wire.receive(other, {.dst = in.data()}, in.size()), sent});
      expected.sent += out.size();
      expected.received += in.size();
      EXPECT_EQ(wire.payload(other).sent, expected.sent);
      EXPECT_EQ(wire.payload(other).received, expected.received);
    }
  });
}

/// Given 100 bytes where 99 have room, or 101 are told to come; 50,000 where 49,999 have room. Expect an error that
/// names the peer and both sizes at every call, nothing landed, and a wire that works again once all have reset it.
TEST_P(WireContract, AMessageThatDoesNotFitIsAnErrorThatNamesBothSizes) {
  struct Misfit {
    std::size_t bytes, capacity;
    bool asks_for_size;
  };
  for (const Misfit misfit : {Misfit{100, 99, true}, Misfit{100, 101, false}, Misfit{100, 99, false},
                              Misfit{50'000, 49'999, true}}) {
    const Wires wires = connect(2);
    const Bytes out = message(Rank{0}, Rank{1}, 0, misfit.bytes);
    Bytes in(misfit.capacity + 8, std::byte{0xee});
    std::size_t received = 0;
    wires[0]->send(Rank{1}, out.data(), out.size());
    const Request request = wires[1]->receive(
        Rank{0}, {.dst = in.data(), .received = misfit.asks_for_size ? &received : nullptr}, misfit.capacity);
    for (int attempt = 0; attempt < 2; ++attempt) try {
        for (const Deadline deadline(60); !deadline.passed();) settle(wires);
        ADD_FAILURE() << misfit.bytes << " bytes have come where " << misfit.capacity << " were expected";
      } catch (const BadMessageError& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("rank 0"), std::string::npos) << text;
        EXPECT_NE(text.find(std::to_string(misfit.bytes)), std::string::npos) << text;
        EXPECT_NE(text.find(std::to_string(misfit.capacity)), std::string::npos) << text;
      }
    EXPECT_FALSE(wires[1]->done(request));
    EXPECT_EQ(in, Bytes(in.size(), std::byte{0xee}));
    for (const auto& wire : wires) wire->reset(1);
    const Request sent = wires[0]->send(Rank{1}, out.data(), out.size());
    in.resize(out.size());
    const Request fits = wires[1]->receive(Rank{0}, {.dst = in.data()}, out.size());
    while (!wires[0]->done(sent) || !wires[1]->done(fits)) settle(wires);
    EXPECT_EQ(in, out);
  }
}

/// A digest, a version, and an operation that this rank has left; the numbers wrap. Expect the sender and its tag, whether
/// or not anything is posted, that nothing lands, and a wire that works again once all have reset it. A wire that carries no
/// signatures knows of nothing.
TEST_P(WireContract, AMessageOfAnotherOperationIsNamedAndDoesNotLand) {
  struct Disagreement {
    const char* name;
    OperationTag sent, own;
  };
  for (const Disagreement& d :
       {Disagreement{"digest", {7, 1, 10}, {7, 1, 11}}, Disagreement{"version", {7, 1, 10}, {7, 2, 10}},
        Disagreement{"left", {6, 1, 10}, {7, 1, 10}},
        Disagreement{"left before the number wrapped", {0xffff'ffff, 1, 10}, {0, 1, 10}}})
    for (const std::size_t bytes : {5u, 50'000u})
      for (const bool is_posted : {true, false}) {
        SCOPED_TRACE(std::string(d.name) + ", " + std::to_string(bytes) + " bytes");
        const Wires wires = connect(2);
        for (std::size_t rank = 0; rank < 2; ++rank) wires[rank]->begin_operation(rank == 0 ? d.sent : d.own);
        if (!wires[1]->traits().carries_signatures) {
          EXPECT_FALSE(wires[1]->mismatch());
          continue;
        }
        Bytes out = message(Rank{0}, Rank{1}, 0, bytes), in(bytes, std::byte{0xee});
        wires[0]->send(Rank{1}, out.data(), bytes);
        Request request{};
        if (is_posted) request = wires[1]->receive(Rank{0}, {.dst = in.data()}, bytes);
        for (const Deadline deadline(60); !wires[1]->mismatch() && !deadline.passed();) settle(wires);
        ASSERT_TRUE(wires[1]->mismatch());
        EXPECT_EQ(wires[1]->mismatch()->peer, Rank{0});
        EXPECT_EQ(wires[1]->mismatch()->tag, d.sent);
        settle(wires);
        if (is_posted) {
          EXPECT_FALSE(wires[1]->done(request));
        }
        EXPECT_EQ(in, Bytes(bytes, std::byte{0xee}));
        EXPECT_FALSE(wires[0]->mismatch()) << "who has received nothing knows of nothing";

        for (const auto& wire : wires) wire->reset(1);
        EXPECT_FALSE(wires[1]->mismatch());
        for (const auto& wire : wires) wire->begin_operation({8, 2, 12});
        const Request sent = wires[0]->send(Rank{1}, out.data(), bytes);
        const Request received = wires[1]->receive(Rank{0}, {.dst = in.data()}, bytes);
        while (!wires[0]->done(sent) || !wires[1]->done(received)) settle(wires);
        EXPECT_EQ(in, out);
      }
}

/// From rank 0 by rank 1 to rank 2, twice: with the second messages go hints, of every choice of rank 0 and rank 1. A new
/// operation begins without.
TEST_P(WireContract, HintsGoOnWithWhatIsSentAfterTheyHaveCome) {
  constexpr std::array kHints{Hint::density, Hint::call};
  const auto is_in = [](std::uint32_t set, Hint hint) {
    return (set & static_cast<std::uint32_t>(hint)) != 0;
  };
  std::atomic<bool> all_carry = true;
  on_ranks(3, [&](Wire& wire, Rank rank) {
    if (!wire.traits().carries_hints) all_carry = false;
    for (std::uint32_t operation = 0; operation < 3 * 16; ++operation) {
      wire.begin_operation({operation, 1, 2});
      const std::size_t bytes = operation % 3 * 25'000;
      const std::array<std::uint32_t, 3> own{operation / 3 % 4, operation / 12 % 4, 0};
      for (const bool second : {false, true}) {
        for (const Hint hint : kHints)
          if (second && is_in(own[static_cast<std::size_t>(rank)], hint)) wire.spread(hint);
        const Bytes out = message(Rank{0}, Rank{2}, operation, bytes);
        Bytes in(bytes);
        if (rank > 0) finish(wire, {wire.receive(Rank{rank - 1}, {.dst = in.data()}, bytes)});
        if (rank < 2) finish(wire, {wire.send(Rank{rank + 1}, rank > 0 ? in.data() : out.data(), bytes)});
        if (rank > 0) {
          EXPECT_EQ(in, out);
        }
        const std::uint32_t come = second ? own[0] | (rank > 0 ? own[1] : 0) : 0;
        for (const Hint hint : kHints) {
          if (all_carry) {
            EXPECT_EQ(wire.has(hint), is_in(come, hint));
          }
        }
      }
    }
  });
}

/// Rank 0 is an operation ahead, and then another, around where the numbers wrap; several messages in each. A rank that waits
/// for a message of its own operation, and gets one of a later, says so: only ranks that disagree send them in that order.
TEST_P(WireContract, AMessageOfALaterOperationWaitsUntilThisRankComesThere) {
  constexpr std::uint32_t kFirst = 0xffff'fffe, kCount = 4;
  for (const std::size_t bytes : {5u, 20'000u, 50'000u}) {
    const Wires wires = connect(2);
    std::vector<Bytes> out;
    for (std::uint32_t i = 0; i < 2 * kCount; ++i) out.push_back(message(Rank{0}, Rank{1}, i, bytes));
    wires[1]->begin_operation({kFirst - 1, 3, 9});
    for (std::uint32_t i = 0; i < 2 * kCount; ++i) {
      wires[0]->begin_operation({kFirst + i / 2, 3, i / 2});
      wires[0]->send(Rank{1}, out[i].data(), bytes);
    }
    settle(wires);
    EXPECT_FALSE(wires[1]->mismatch()) << "which waits for nothing";
    for (std::uint32_t i = 0; i < 2 * kCount; ++i) {
      Bytes in(bytes, std::byte{0xee});
      const Request request = wires[1]->receive(Rank{0}, {.dst = in.data()}, bytes);
      if (wires[1]->traits().carries_signatures && i % 2 == 0) {
        for (const Deadline deadline(60); !wires[1]->mismatch() && !deadline.passed();) settle(wires);
        EXPECT_FALSE(wires[1]->done(request));
        EXPECT_EQ(wires[1]->mismatch()->tag, (OperationTag{kFirst + i / 2, 3, i / 2}));
        EXPECT_EQ(in, Bytes(bytes, std::byte{0xee}));
      }
      wires[1]->begin_operation({kFirst + i / 2, 3, i / 2});
      while (!wires[1]->done(request)) settle(wires);
      EXPECT_EQ(in, out[i]);
    }
  }
}

TEST_P(WireContract, SleepingRanksAreWokenByMessagesAndByRoomForMore) {
  on_ranks(2, [&](Wire& wire, Rank rank) {
    Bytes big(1 << 20, std::byte{3});
    const Request request = rank == Rank{0} ? wire.send(Rank{1}, big.data(), big.size())
                                            : wire.receive(Rank{0}, {.dst = big.data()}, big.size());
    // Whoever slept through a message would do so for ten minutes.
    while (!wire.done(request))
      if (!wire.progress()) wire.wait(10 * 60 * 1'000'000);
    wire.progress();
  });
}

TEST_P(WireContract, WaitingEndsWhenNothingHappens) {
  const Wires wires = connect(2);
  wires[0]->wait(1000);
  std::byte in{};
  const Request request = wires[0]->receive(Rank{1}, {.dst = &in}, 1);
  wires[0]->wait(1000);
  EXPECT_FALSE(wires[0]->done(request));
}

TEST_P(WireContract, ProgressWithNothingPostedMovesNothing) {
  const Wires wires = connect(3);
  settle(wires);
  for (const auto& wire : wires) EXPECT_FALSE(wire->progress());
  const Bytes out = message(Rank{0}, Rank{2}, 0, 500);
  Bytes in(500);
  const Request sent = wires[0]->send(Rank{2}, out.data(), 500);
  const Request received = wires[2]->receive(Rank{0}, {.dst = in.data()}, 500);
  while (!wires[0]->done(sent) || !wires[2]->done(received)) settle(wires);
  EXPECT_EQ(in, out);
}

/// Rank 0 has a message in flight when both reset, at different times, and sends a new one in between.
TEST_P(WireContract, AResetDropsWhatWasInFlightAndNothingOldArrives) {
  for (const std::size_t bytes : {100u, 600'000u}) {
    const Wires wires = connect(2);
    const Bytes old(bytes, std::byte{0xaa}), fresh = message(Rank{0}, Rank{1}, 9, bytes);
    Bytes in(bytes), new_in(bytes);
    wires[0]->send(Rank{1}, old.data(), bytes);
    for (int i = 0; i < 10; ++i) wires[0]->progress();
    wires[0]->reset(1);
    const Request sent = wires[0]->send(Rank{1}, fresh.data(), bytes);
    wires[1]->receive(Rank{0}, {.dst = in.data()}, bytes);
    for (int i = 0; i < 50; ++i) {
      wires[0]->progress();
      wires[1]->progress();
    }
    EXPECT_EQ(std::count_if(in.begin(), in.end(),
                            [](std::byte b) { return b != std::byte{0} && b != std::byte{0xaa}; }),
              0)
        << "what is sent after the reset is not for the time before it";
    wires[1]->reset(1);
    const Request received = wires[1]->receive(Rank{0}, {.dst = new_in.data()}, bytes);
    EXPECT_FALSE(wires[1]->done(received));
    while (!wires[0]->done(sent) || !wires[1]->done(received)) settle(wires);
    EXPECT_EQ(new_in, fresh);
  }
}

/// Each rank starts something that the others never answer, resets, and is understood afterwards. A reset throws away
/// what is in flight, so nobody comes to one before all have what was sent before.
TEST_P(WireContract, RanksUnderstandEachOtherAfterEveryReset) {
  constexpr int kRanks = 3;
  std::barrier all_have_received(kRanks);
  on_ranks(kRanks, [&](Wire& wire, Rank self) {
    const Rank next{(self + 1) % kRanks}, before{(self + kRanks - 1) % kRanks};
    for (std::size_t round = 0; round < 10; ++round) {
      const Bytes lost(100'000);
      wire.send(round % 2 == 0 ? next : before, lost.data(), round % 3 == 0 ? lost.size() : 100);
      for (int i = 0; i < 5; ++i) wire.progress();
      wire.reset(round + 1);
      const Bytes out = message(self, next, round, 1000);
      Bytes in(1000);
      const Request sending = wire.send(next, out.data(), out.size());
      finish(wire, {wire.receive(before, {.dst = in.data()}, in.size()), sending});
      EXPECT_EQ(in, message(before, self, round, 1000));
      all_have_received.arrive_and_wait();
    }
  });
}

TEST_P(WireContract, APeerThatHasLeftIsNoErrorAndIsNamedWhereItIsNoticed) {
  Wires wires = connect(3);
  for (const auto& wire : wires) EXPECT_TRUE(wire->lost().empty());
  Bytes in(100'000);
  const Request request = wires[0]->receive(Rank{1}, {.dst = in.data()}, in.size());
  wires[1].reset();
  for (int i = 0; i < 100; ++i) wires[0]->progress();
  EXPECT_FALSE(wires[0]->done(request));
  const std::vector<LostRank> lost = wires[0]->lost();
  EXPECT_EQ(lost.size(), GetParam().tells_who_has_left ? 1u : 0u);
  for (const LostRank& peer : lost) {
    EXPECT_EQ(peer.rank, Rank{1});
    EXPECT_NE(peer.reason, "");
  }
}

TEST_P(WireContract, TraitsAreUsableAndStayAsTheyAre) {
  constexpr int kRanks = 3;
  on_ranks(kRanks, [&](Wire& wire, Rank) {
    const WireTraits& traits = wire.traits();
    EXPECT_GE(traits.messages.slice_bytes, 64);
    EXPECT_GE(traits.messages.join_bytes, 0);
    EXPECT_GE(traits.messages.pack_bytes, 0);
    EXPECT_GE(traits.groups_in_flight, 1);
    EXPECT_GE(traits.waiting.spins, 0);
    EXPECT_GE(traits.waiting.polls, 0);
    EXPECT_GE(traits.waiting.yields, 0);
    EXPECT_GT(traits.waiting.sleep_us, 0);
    EXPECT_GE(traits.arrival_delay.count(), 0);
    EXPECT_EQ(traits.ports.sending.size(), traits.ports.receiving.size());
    EXPECT_TRUE(traits.ports.sending.empty() || traits.ports.sending.size() == kRanks);
    EXPECT_TRUE(traits.healthy.empty() || traits.healthy.size() == kRanks);
    for (const PairSpeed& pair : traits.healthy) {
      EXPECT_GE(pair.latency_ns, 0);
      EXPECT_GT(pair.bytes_per_ns, 0);
    }
    for (const auto& [rank, factor] : traits.slow) {
      EXPECT_LT(rank, kRanks);
      EXPECT_GT(factor, 1);
    }
    EXPECT_EQ(&wire.traits(), &traits);
  });
}

/// Rank 0 waits by the descriptor, as a rank that waits for several wires does.
TEST_P(WireContract, AMessageWakesARankThatSleepsOnTheDescriptor) {
  on_ranks(2, [&](Wire& wire, Rank rank) {
    if (wire.wakeable() == nullptr) return;
    for (std::size_t n = 0; n < 20; ++n) {
      Bytes out = message(Rank{1}, Rank{0}, n, 3000), in(3000);
      if (rank == Rank{1}) {
        if (n % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        finish(wire, {wire.send(Rank{0}, out.data(), out.size())});
        continue;
      }
      const Request request = wire.receive(Rank{1}, {.dst = in.data()}, in.size());
      pollfd polled{wire.wakeable()->wake_descriptor(), POLLIN, 0};
      ASSERT_GE(polled.fd, 0);
      for (const Deadline deadline(60); !wire.done(request) && !deadline.passed();) {
        int timeout_us = 1'000'000;
        if (!wire.wakeable()->arm(&timeout_us)) ::poll(&polled, 1, 1 + timeout_us / 1000);
        wire.wakeable()->disarm();
        wire.progress();
      }
      EXPECT_EQ(in, out);
    }
  });
}

TEST_P(WireContract, ItsClockDoesNotGoBack) {
  on_ranks(2, [&](Wire& wire, Rank rank) {
    std::int64_t before_ns = wire.now_ns();
    for (std::size_t n = 0; n < 50; ++n) {
      Bytes data(1000);
      finish(wire, {rank == Rank{0} ? wire.send(Rank{1}, data.data(), data.size())
                                    : wire.receive(Rank{0}, {.dst = data.data()}, data.size())});
      const std::int64_t now_ns = wire.now_ns();
      EXPECT_GE(now_ns, before_ns);
      before_ns = now_ns;
    }
  });
}

TEST_P(WireContract, ASlowerNetworkStillCarriesEverything) {
  const Wires wires = connect(2);
  if (EmulatedClock* const clock = wires[0]->clock()) clock->slow_down({.ports = {1, 2}, .links = {}});
  const Bytes out = message(Rank{0}, Rank{1}, 0, 50'000);
  Bytes in(out.size());
  const Request sent = wires[0]->send(Rank{1}, out.data(), out.size());
  const Request received = wires[1]->receive(Rank{0}, {.dst = in.data()}, in.size());
  while (!wires[0]->done(sent) || !wires[1]->done(received)) settle(wires);
  EXPECT_EQ(in, out);
}

}  // namespace hemiola::testing
