// SPDX-License-Identifier: Apache-2.0
// Messages to several peers, which a rank writes once on its board.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "hemiola/runtime/executor/host/combine.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "shm_ends.hpp"

namespace hemiola {
namespace {

using testing::AnonymousRegion, testing::finish, testing::message, testing::on_threads;
using Bytes = std::vector<std::byte>;

/// Wires of one process, which a test moves by hand.
class ShmBoard : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  ShmBoard() : region_(kRanks) {
    for (Rank rank : indices<Rank>(kRanks)) wires_.emplace_back(region_.span(), rank, kRanks);
  }
  /// The bytes on rank 0's board, from its beginning on.
  Bytes board(std::size_t bytes) const {
    const auto boards = region_.span().last(kRanks * kBoardBytes);
    return {boards.begin(), boards.begin() + static_cast<std::ptrdiff_t>(bytes)};
  }
  /// Both messages to ranks 1 and 2, before anything moves.
  std::vector<Request> send_to_both(const Bytes& data) {
    return {wires_[0].send(Rank{1}, data.data(), data.size()),
            wires_[0].send(Rank{2}, data.data(), data.size())};
  }
  Bytes take(int rank, std::size_t bytes) {
    ShmWire& wire = wires_[static_cast<std::size_t>(rank)];
    Bytes in(bytes);
    const Request request = wire.receive(Rank{0}, {.dst = in.data()}, bytes);
    while (!wire.done(request) && (wires_[0].progress() | wire.progress())) {
    }
    EXPECT_TRUE(wire.done(request));
    return in;
  }
  void move_all(int rank) {
    while (wires_[static_cast<std::size_t>(rank)].progress()) {
    }
  }

  AnonymousRegion region_;
  std::deque<ShmWire> wires_;
};

TEST_F(ShmBoard, WhatSeveralPeersReadIsWrittenOnceAndTheSenderMayGoOn) {
  for (const std::size_t bytes : {kLeastPosted, kPieceBytes + 5, kBoardBytes}) {
    Bytes data = message(Rank{0}, Rank{1}, bytes, bytes);
    const Bytes out = data;
    const auto sent = send_to_both(data);
    move_all(0);
    EXPECT_TRUE(wires_[0].done(sent[0]) && wires_[0].done(sent[1])) << "nobody needs to have read it";
    EXPECT_EQ(board(bytes), out);
    std::ranges::fill(data, std::byte{0xee});
    EXPECT_EQ(take(1, bytes), out);
    EXPECT_EQ(take(2, bytes), out);
  }
}

/// Given bytes that change once the first of two sends is done. Expect that the second peer gets the new ones.
TEST_F(ShmBoard, ASendThatComesAfterSomethingHasMovedSharesNothing) {
  Bytes data = message(Rank{0}, Rank{1}, 1, kLeastPosted);
  const Bytes old = data;
  const Request first = wires_[0].send(Rank{1}, data.data(), data.size());
  move_all(0);
  ASSERT_TRUE(wires_[0].done(first));
  std::ranges::fill(data, std::byte{0xee});
  wires_[0].send(Rank{2}, data.data(), data.size());
  EXPECT_EQ(take(1, data.size()), old);
  EXPECT_EQ(take(2, data.size()), data);
  EXPECT_EQ(board(1), Bytes(1)) << "one reader's bytes are not posted";
}

/// Given rank 2, which reads nothing, as one that has died. Expect that rank 1 gets all messages, another way where the board
/// has no room, and that rank 2 finds them in their order when it reads after all.
TEST_F(ShmBoard, AReaderThatNeverComesHoldsNobodyUp) {
  const std::size_t bytes = kBoardBytes / 2 - 100;
  std::vector<Bytes> out;
  for (std::size_t number = 0; number < 5; ++number) {
    out.push_back(message(Rank{0}, Rank{1}, number, bytes));
    send_to_both(out.back());
    EXPECT_EQ(take(1, bytes), out.back());
  }
  for (const Bytes& each : out) EXPECT_EQ(take(2, bytes), each);
  const Bytes last = message(Rank{0}, Rank{1}, 9, bytes);
  send_to_both(last);
  move_all(0);
  EXPECT_EQ(board(bytes), last) << "all is read, so the board is free again";
}

/// Given rank 2 in the old epoch, in which it may still read the board. Expect that nothing is written there before it follows.
TEST_F(ShmBoard, AfterAResetTheBoardWaitsForAllRanks) {
  const Bytes old = message(Rank{0}, Rank{1}, 1, kLeastPosted),
              fresh = message(Rank{0}, Rank{1}, 2, kLeastPosted);
  send_to_both(old);
  move_all(0);
  wires_[0].reset(1);
  wires_[1].reset(1);
  send_to_both(fresh);
  EXPECT_EQ(take(1, fresh.size()), fresh);
  EXPECT_EQ(board(old.size()), old);
  wires_[2].reset(1);
  EXPECT_EQ(take(2, fresh.size()), fresh) << "nothing of the old epoch";
  send_to_both(fresh);
  move_all(0);
  EXPECT_EQ(board(fresh.size()), fresh);
}

TEST_F(ShmBoard, AMessageLargerThanItsReceiveIsRefused) {
  const Bytes out = message(Rank{0}, Rank{1}, 1, 2 * kLeastPosted);
  send_to_both(out);
  move_all(0);
  Bytes in(kLeastPosted, std::byte{0xee});
  wires_[1].receive(Rank{0}, {.dst = in.data()}, in.size());
  EXPECT_THROW(wires_[1].progress(), BadMessageError);
  EXPECT_EQ(in, Bytes(kLeastPosted, std::byte{0xee}));
  EXPECT_EQ(take(2, out.size()), out);
}

/// Everybody sends to everybody, messages of all sizes one behind the other, alone and shared; every second is combined.
TEST(ShmBoards, RanksThatAllPostAtOnceGetEveryByte) {
  constexpr int kRanks = 4;
  const std::vector<std::size_t> sizes{4,           kLeastPosted - 4, kLeastPosted, 3 * kPieceBytes + 4,
                                       kBoardBytes, kBoardBytes + 4,  kBigBytes,    300'000,
                                       8,           kLeastPosted};
  on_threads(kRanks, [&](ShmWire& wire, Rank rank) {
    for (int round = 0; round < 20; ++round) {
      std::vector<Bytes> out, in;
      std::vector<Request> requests;
      in.reserve(sizes.size() * kRanks);
      for (std::size_t n = 0; n < sizes.size(); ++n) out.push_back(message(rank, rank, n, sizes[n]));
      for (std::size_t n = 0; n < sizes.size(); ++n)
        for (Rank peer : indices<Rank>(kRanks)) {
          if (peer == rank) continue;
          requests.push_back(wire.send(peer, out[n].data(), sizes[n]));
          Bytes& to = in.emplace_back(sizes[n], std::byte{1});
          const bool combines = n % 2 == 1;
          requests.push_back(wire.receive(peer,
                                          {to.data(), combines ? to.data() : nullptr,
                                           combines ? combine_for(DType::uint8, Op::sum) : nullptr},
                                          sizes[n]));
        }
      for (const Request request : requests) finish(wire, request);
      std::size_t index = 0;
      for (std::size_t n = 0; n < sizes.size(); ++n)
        for (Rank peer : indices<Rank>(kRanks)) {
          if (peer == rank) continue;
          Bytes expected = message(peer, peer, n, sizes[n]);
          if (n % 2 == 1)
            for (std::byte& value : expected) value = static_cast<std::byte>(std::to_integer<int>(value) + 1);
          ASSERT_EQ(in[index++], expected) << "message " << n << " from " << peer;
        }
    }
  });
}

}  // namespace
}  // namespace hemiola
