// SPDX-License-Identifier: Apache-2.0
// What only the shared-memory wire does, between threads that share one region and between forked processes. What every
// wire does is in contracts/wire_contract.hpp.
#include "hemiola/runtime/wire/shm/shm_wire.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "shm_ends.hpp"

namespace hemiola {
namespace {

using testing::AnonymousRegion, testing::ChannelEnds, testing::finish, testing::kRingBytes, testing::message,
    testing::on_threads;

TEST(ShmWire, ARankMaySendToItself) {
  on_threads(1, [&](ShmWire& wire, Rank rank) {
    const auto out = message(rank, rank, 0, 2 * kRingBytes + 5);
    std::vector<std::byte> in(out.size());
    wire.send(rank, out.data(), out.size());
    finish(wire, wire.receive(rank, {in.data(), nullptr, nullptr}, in.size()));
    EXPECT_EQ(in, out);
  });
}

TEST(ShmWire, WaitWakesUpForAMessageAndForSpace) {
  on_threads(2, [&](ShmWire& wire, Rank rank) {
    std::vector<std::byte> big(4 * kRingBytes, std::byte{3});
    const Request request = rank == Rank{0}
                                ? wire.send(Rank{1}, big.data(), big.size())
                                : wire.receive(Rank{0}, {big.data(), nullptr, nullptr}, big.size());
    // Only sleeping, never polling: without a wake-up this would take ten minutes.
    while (!wire.done(request)) wire.wait(10 * 60 * 1'000'000);
  });
}

/// Rank 0 has half a message in flight when both reset, at different times. Nothing old arrives, new messages
/// do.
TEST(ShmWire, ResetDropsWhatWasInFlightAndStartsAgain) {
  const AnonymousRegion region(2);
  ShmWire zero(region.span(), Rank{0}, 2), one(region.span(), Rank{1}, 2);
  const std::vector<std::byte> old(2 * kRingBytes, std::byte{0xaa});
  std::vector<std::byte> in(100), new_in(100);
  zero.send(Rank{1}, old.data(), old.size());
  one.receive(Rank{0}, {in.data(), nullptr, nullptr}, 100);
  while (zero.progress()) {
  }
  zero.reset(1);
  const auto fresh = message(Rank{0}, Rank{1}, 9, 100);
  const Request sent = zero.send(Rank{1}, fresh.data(), 100);
  EXPECT_FALSE(zero.progress()) << "rank 1 is still in the old epoch and may be reading the ring";
  EXPECT_FALSE(one.progress()) << "what rank 0 writes now is not for the old epoch";
  EXPECT_EQ(in, std::vector<std::byte>(100)) << "nothing has landed";
  one.reset(1);
  const Request received = one.receive(Rank{0}, {new_in.data(), nullptr, nullptr}, 100);
  EXPECT_FALSE(one.done(received));
  EXPECT_TRUE(zero.progress());
  EXPECT_TRUE(one.progress());
  EXPECT_TRUE(zero.done(sent));
  EXPECT_TRUE(one.done(received));
  EXPECT_EQ(new_in, fresh);
}

TEST(ShmWire, ALineCounterThatPasses32BitsDoesNotMatter) {
  // 2^32 lines are 256 GiB, too much to send: start both ends just below instead, as a wire that has run long
  // has.
  const AnonymousRegion region(1);
  ChannelControl& control = *new (region.span().data()) ChannelControl{};
  std::byte* ring = region.span().data() + 4096;
  MemoryCard card{};
  std::vector<std::byte> bounce(kBounceBytes);
  OperationTag own;
  const std::uint32_t near_end = 0u - std::uint32_t{kRingBytes / kLineBytes};  // at the beginning of the ring
  control.written.store(near_end);
  control.freed.store(near_end);
  struct Writer : ChannelWriter {
    using ChannelWriter::ChannelWriter;
    void start_at(std::uint32_t line) {
      position_.line = line;
      ends_.fill(line);
    }
  } writer(control, Ring(ring, kRingBytes), nullptr);
  struct Reader : ChannelReader {
    using ChannelReader::ChannelReader;
    void start_at(std::uint32_t line) { position_.line = line; }
  } reader(control, Ring(ring, kRingBytes), Rank{0}, PeerMemory(card), nullptr, bounce.data(), &own);
  writer.start_at(near_end);
  reader.start_at(near_end);
  const auto out = message(Rank{0}, Rank{0}, 1, 3 * kRingBytes);
  std::vector<std::byte> in(out.size());
  writer.post({out.data(), out.size()});
  reader.post({{in.data(), nullptr, nullptr}, in.size()});
  while (!reader.idle()) ASSERT_TRUE(writer.progress() | reader.progress());
  EXPECT_EQ(in, out);
}

TEST(ShmWire, ASmallMessageTakesNoMoreLinesThanItsBytes) {
  for (const auto& [bytes, lines] : {std::pair{0u, 1u}, {1u, 1u}, {64u, 1u}, {65u, 2u}, {4096u, 64u}}) {
    ChannelEnds ends;
    const auto out = message(Rank{0}, Rank{1}, 1, bytes);
    std::vector<std::byte> in(bytes);
    ends.writer.post({out.data(), bytes});
    ends.reader.post({{in.data(), nullptr, nullptr}, bytes});
    ends.settle();
    EXPECT_EQ(in, out);
    EXPECT_EQ(ends.lines_freed(), lines) << bytes << " bytes";
  }
}

/// Given ten messages of each of five operations, the middle three with hints, of which the third are others.
/// Expect a line more for each operation whose signature they bear, and where they bear none for hints that come or go.
TEST(ShmWire, ATagTakesALineWhereItIsAnotherThanTheLastOnes) {
  for (const bool with_signatures : {false, true}) {
    ChannelEnds ends;
    for (const std::uint32_t operation : {1u, 2u, 3u, 4u, 5u}) {
      ends.own = with_signatures ? OperationTag{operation, 0, 5} : OperationTag{};
      OperationTag tag = ends.own;
      tag.hints = std::array<std::uint8_t, 5>{0, 1, 1, 2, 0}[operation - 1];
      const std::byte out{7};
      for (int i = 0; i < 10; ++i) {
        std::byte in{};
        ends.writer.post({.data = &out, .bytes = 1, .tag = tag});
        ends.reader.post({{&in, nullptr, nullptr}, 1});
        ends.settle();
        EXPECT_EQ(in, out);
      }
      EXPECT_EQ(ends.own.hints, tag.hints);
    }
    EXPECT_EQ(ends.lines_freed(), with_signatures ? 55u : 53u);
  }
}

TEST(ShmWire, RingsOfManyWritersAreSmallerAndGoRoundWhereCountersDo) {
  EXPECT_EQ(ring_bytes(1), ring_bytes(2));
  EXPECT_EQ(ring_bytes(2), kReaderBytes);
  EXPECT_EQ(ring_bytes(4), std::bit_floor(kReaderBytes / 3));
  EXPECT_EQ(ring_bytes(1000), kLeastRingBytes);
  for (int ranks = 1; ranks < 100; ++ranks) EXPECT_TRUE(std::has_single_bit(ring_bytes(ranks)));
}

/// Given messages of every size at which something changes, many enough to go both ways into the ring and round it.
TEST(ShmWire, MessagesThatAreNotBigArriveWholeWhicheverWayTheyGo) {
  ChannelEnds ends;
  for (std::uint32_t round = 0; round < 100; ++round)
    for (const std::size_t bytes : {std::size_t{1}, kLeastBypassing - 1, kLeastBypassing, kLeastBypassing + 1,
                                    kBigBytes - 2, kBigBytes - 1}) {
      const auto out = message(Rank{0}, Rank{1}, round, bytes);
      std::vector<std::byte> in(bytes);
      std::size_t received = 0;
      ends.writer.post({out.data(), bytes});
      ends.reader.post({{.dst = in.data(), .received = &received}, bytes});
      ends.settle();
      ASSERT_EQ(received, bytes);
      ASSERT_EQ(in, out);
    }
  for (std::size_t way = 0; way < kWaysThroughRing; ++way) EXPECT_GT(ends.costs(0).take[way], 0);
  EXPECT_EQ(ends.costs(0).arrive[0], 0) << "of messages that are there when they are seen";
}

/// Sizes of more messages than there is room for: the writer waits until the reader has read one.
TEST(ShmWire, NoSizeIsOverwrittenBeforeItIsRead) {
  ChannelEnds ends;
  std::vector<std::byte> out(2 * kSizesKept + 1), in(out.size());
  std::vector<std::uint64_t> sent;
  for (std::size_t n = 0; n < out.size(); ++n) sent.push_back(ends.writer.post({out.data(), n}));
  while (ends.writer.progress()) {
  }
  EXPECT_TRUE(ends.writer.done(sent[kSizesKept - 1]));
  EXPECT_FALSE(ends.writer.done(sent[kSizesKept]));
  for (std::size_t n = 0; n < out.size(); ++n) {
    std::size_t received = 0;
    ends.reader.post({{.dst = in.data(), .received = &received}, in.size()});
    ends.settle();
    EXPECT_EQ(received, n);
  }
  EXPECT_TRUE(ends.writer.idle());
}

/// A first line as no rank writes it: shorter than any big message, a way that there is not, an address that nobody has, a place
/// that is not on the board. Expect an error that names the writer.
TEST(ShmWire, ABigMessageThatNoRankSendsNamesItsWriter) {
  for (const BigHeader header :
       {BigHeader{0, 0, Way::cached}, BigHeader{kBigBytes - 1, 0, Way::cached},
        BigHeader{kBigBytes, 0, Way{4}}, BigHeader{kBigBytes, 0, Way{0xffff'ffff}},
        BigHeader{kBigBytes, 8, Way::fetched}, BigHeader{0, 0, Way::posted},
        BigHeader{1, kBoardBytes, Way::posted}, BigHeader{1, 0xffff'ffff'ffff'ffff, Way::posted}}) {
    const AnonymousRegion region(1);
    ChannelControl& control = *new (region.span().data()) ChannelControl{};
    std::byte* const ring = region.span().data() + 4096;
    MemoryCard card{};
    const MemoryOwner owner(card);
    std::vector<std::byte> bounce(kBounceBytes), in(kBigBytes);
    OperationTag own;
    ChannelReader reader(control, Ring(ring, kRingBytes), Rank{4}, PeerMemory(card), nullptr, bounce.data(),
                         &own);
    std::memcpy(ring, &header, sizeof header);
    control.sizes[0].store(kBigMark);
    control.written.store(1);
    std::size_t received = 0;
    reader.post({{.dst = in.data(), .received = &received}, in.size()});
    try {
      while (reader.progress()) {
      }
      ADD_FAILURE() << header.bytes << " bytes by way " << static_cast<std::uint32_t>(header.way);
    } catch (const BadMessageError& e) {
      EXPECT_EQ(e.sender, Rank{4});
    }
  }
}

TEST(ShmWire, RefusesARegionThatIsTooSmallAndARankOutOfRange) {
  const AnonymousRegion region(2);
  EXPECT_THROW(ShmWire(region.span().first(4096), Rank{0}, 2), ArgumentError);
  EXPECT_THROW(ShmWire(region.span(), Rank{2}, 2), ArgumentError);
  EXPECT_THROW(ShmWire(region.span(), Rank{-1}, 2), ArgumentError);
  EXPECT_THROW(ShmWire(region.span().subspan(8), Rank{0}, 2), ArgumentError);
}

TEST(ShmWire, UntouchedChannelsCostNoMemory) {
  const int rank_count = 64;
  const AnonymousRegion region(rank_count);
  ShmWire zero(region.span(), Rank{0}, rank_count), one(region.span(), Rank{1}, rank_count);
  const std::byte out{7};
  std::byte in{};
  zero.send(Rank{1}, &out, 1);
  const Request received = one.receive(Rank{0}, {&in, nullptr, nullptr}, 1);
  while (!one.done(received)) {
    zero.progress();
    one.progress();
  }
  std::vector<unsigned char> resident(region.span().size() / 4096 + 1);
  ASSERT_EQ(::mincore(region.span().data(), region.span().size(), resident.data()), 0);
  const auto pages = std::count_if(resident.begin(), resident.end(), [](unsigned char p) { return p & 1; });
  EXPECT_LE(pages, 8) << "of " << resident.size();
}

TEST(ShmWire, WorksBetweenProcesses) {
  const AnonymousRegion region(3);
  std::vector<pid_t> children;
  for (Rank rank : indices<Rank>(3)) {
    const pid_t child = ::fork();
    if (child == 0) {
      ShmWire wire(region.span(), rank, 3);
      const Rank next{(rank + 1) % 3}, previous{(rank + 2) % 3};
      const auto out = message(rank, next, 0, 1 << 20);
      std::vector<std::byte> in(1 << 20);
      const Request sent = wire.send(next, out.data(), out.size());
      const Request received = wire.receive(previous, {in.data(), nullptr, nullptr}, in.size());
      finish(wire, received);
      finish(wire, sent);
      ::_exit(in == message(previous, rank, 0, 1 << 20) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace hemiola
