// SPDX-License-Identifier: Apache-2.0
// Big messages that a rank takes from its sender's memory.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "hemiola/runtime/executor/host/combine.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "shm_ends.hpp"

namespace hemiola {
namespace {

using testing::AnonymousRegion, testing::ChannelEnds, testing::finish, testing::kRingBytes, testing::message;

TEST(ShmWireFetching, ABigMessageIsTakenFromItsSenderInOneCopy) {
  ChannelEnds ends;
  ends.teach();
  ASSERT_EQ(ends.verdict(), Fetching::works);
  const auto out = message(Rank{0}, Rank{1}, 1, 3 * kRingBytes + 17);
  std::vector<std::byte> in(out.size());
  const auto sent = ends.writer.post({out.data(), out.size()});
  EXPECT_TRUE(ends.writer.progress());
  EXPECT_FALSE(ends.writer.progress()) << "one line says it all";
  EXPECT_FALSE(ends.writer.done(sent)) << "the reader still needs the bytes";
  ends.reader.post({{in.data(), nullptr, nullptr}, in.size()});
  ends.settle();
  EXPECT_TRUE(ends.writer.done(sent));
  EXPECT_EQ(in, out);
}

TEST(ShmWireFetching, WhatIsFetchedCanBeCombined) {
  ChannelEnds ends;
  ends.teach();
  std::vector<float> out(100'003), own(out.size()), sum(out.size()), expected(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(i % 1000);
    own[i] = static_cast<float>(i % 77);
    expected[i] = out[i] + own[i];
  }
  const std::size_t bytes = 4 * out.size();
  ends.writer.post({reinterpret_cast<const std::byte*>(out.data()), bytes});
  ends.reader.post({{reinterpret_cast<std::byte*>(sum.data()), reinterpret_cast<const std::byte*>(own.data()),
                     combine_for(DType::float32, Op::sum)},
                    bytes});
  ends.settle();
  EXPECT_EQ(sum, expected);
}

TEST(ShmWireFetching, AMessageBehindAFetchedOneIsDoneAfterIt) {
  ChannelEnds ends;
  ends.teach();
  const auto big = message(Rank{0}, Rank{1}, 1, kRingBytes), small = message(Rank{0}, Rank{1}, 2, 100);
  std::vector<std::byte> big_in(big.size()), small_in(small.size());
  const auto first = ends.writer.post({big.data(), big.size()});
  const auto second = ends.writer.post({small.data(), small.size()});
  while (ends.writer.progress()) {
  }
  EXPECT_FALSE(ends.writer.done(first));
  EXPECT_FALSE(ends.writer.done(second));
  ends.reader.post({{big_in.data(), nullptr, nullptr}, big.size()});
  ends.reader.post({{small_in.data(), nullptr, nullptr}, small.size()});
  ends.settle();
  EXPECT_TRUE(ends.writer.done(second));
  EXPECT_EQ(big_in, big);
  EXPECT_EQ(small_in, small);
}

TEST(ShmWireFetching, BytesThatTheirRankIsWorkingOnAreNotTakenFromUnderIt) {
  ChannelEnds ends;
  ends.teach();
  const auto out = message(Rank{0}, Rank{1}, 1, kBigBytes);
  const auto sent = ends.writer.post({out.data(), out.size(), Source::working});
  while (ends.writer.progress()) {
  }
  EXPECT_TRUE(ends.writer.done(sent)) << "all of it is in the ring";
}

/// Sends 64 big messages, before each of which the reader says what ways cost; returns how many it fetched.
template <typename SayCosts>
int count_fetched(bool counts_arrival, SayCosts say_costs) {
  ChannelEnds ends;
  ends.teach();
  const auto out = message(Rank{0}, Rank{1}, 1, kBigBytes);
  std::vector<std::byte> in(out.size());
  int fetched = 0;
  for (int i = 0; i < 64; ++i) {
    say_costs(&ends);
    const auto sent =
        ends.writer.post({.data = out.data(), .bytes = out.size(), .counts_arrival = counts_arrival});
    while (ends.writer.progress()) {
    }
    fetched += !ends.writer.done(sent);
    ends.reader.post({{in.data(), nullptr, nullptr}, in.size()});
    ends.settle();
    EXPECT_EQ(in, out);
  }
  return fetched;
}

/// Given a reader that says what fetching costs. Expect that big messages take the cheaper way, all but the trials, and
/// the first, which tells what a way through the ring costs that has not been taken yet.
TEST(ShmWireFetching, ABigMessageTakesTheWayThatCostsLess) {
  const auto fetched = [](float cost) {
    return count_fetched(false, [cost](ChannelEnds* ends) { ends->say_fetching_costs(cost); });
  };
  EXPECT_EQ(fetched(1e-9f), 57);
  const int trials = fetched(1e9f);  // of six, some of which go the ring's other way
  EXPECT_GE(trials, 2);
  EXPECT_LE(trials, 4);
}

/// Given big messages that are fetched to any place in a page, a few bytes further than they lie among them, where the kernel's
/// copy may stumble and is led round. Expect them whole, and nothing touched beside them.
TEST(ShmWireFetching, AFetchedMessageArrivesWholeWhereverItLands) {
  constexpr std::size_t kPage = 4096, kBytes = 3 * kCombinedBytes + 5;
  const auto out = message(Rank{0}, Rank{1}, 1, kBytes);
  std::vector<std::byte> in(kBytes + 3 * kPage);
  const std::uintptr_t apart =
      reinterpret_cast<std::uintptr_t>(in.data()) - reinterpret_cast<std::uintptr_t>(out.data());
  const std::size_t alike = (kPage - apart % kPage) % kPage;
  for (const std::size_t further : {0u, 1u, 16u, 63u, 64u}) {
    ChannelEnds ends;
    ends.teach();
    std::ranges::fill(in, std::byte{0});
    std::byte* const begin = in.data() + alike + further;
    ends.say_fetching_costs(1e-9f);
    for (int i = 0; i < 8; ++i) {
      ends.say_streaming_costs({.take = 1e9f, .arrive = 1e9f});
      ends.writer.post({out.data(), kBytes});
      ends.reader.post({{begin, nullptr, nullptr}, kBytes});
      ends.settle();
      EXPECT_TRUE(std::equal(out.begin(), out.end(), begin)) << further << " further";
    }
    EXPECT_GT(ends.costs(size_class(kBytes)).take[static_cast<std::size_t>(Way::fetched)].load(), 1e-6f)
        << "it was fetched";
    EXPECT_TRUE(std::all_of(in.data(), begin, [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_TRUE(
        std::all_of(begin + kBytes, in.data() + in.size(), [](std::byte b) { return b == std::byte{0}; }));
  }
}

/// Given a reader that fetches at a cost between those of the ring's two copies together and of the way through it. Expect
/// that a message for which arrival counts is copied, and that any other is fetched.
TEST(ShmWireFetching, WhereArrivalCountsTheWayIsTakenThatIsDoneSooner) {
  const auto say_costs = [](ChannelEnds* ends) {
    ends->say_fetching_costs(1);
    ends->say_streaming_costs({.take = 2, .arrive = 0.5});
  };
  EXPECT_EQ(count_fetched(true, say_costs), 3) << "of seven trials";
  EXPECT_EQ(count_fetched(false, say_costs), 57);
}

TEST(ShmWireFetching, MessagesOfAnotherSizeAreJudgedByThemselves) {
  EXPECT_EQ(size_class(1), 0u);
  EXPECT_EQ(size_class(kBigBytes), 0u);
  EXPECT_EQ(size_class(2 * kBigBytes - 1), 0u);
  EXPECT_EQ(size_class(2 * kBigBytes), 1u);
  EXPECT_EQ(size_class(std::size_t{1} << 40), kSizeClasses - 1);
  ChannelEnds ends;
  ends.teach();
  const auto is_known = [&](std::size_t kind) {
    return std::ranges::any_of(ends.costs(kind).take, [](const auto& cost) { return cost > 0; });
  };
  EXPECT_TRUE(is_known(0));
  EXPECT_FALSE(is_known(1)) << "of a size that has not been sent";
}

/// The sender gives up and goes on using its memory while the receiver is about to fetch.
TEST(ShmWireFetching, WhatIsFetchedAfterTheSenderHasGivenUpDoesNotCount) {
  ChannelEnds ends;
  ends.teach();
  auto out = message(Rank{0}, Rank{1}, 1, 2 * kFetchBytes);
  std::vector<std::byte> in(out.size());
  ends.writer.post({out.data(), out.size()});
  ends.writer.progress();
  const auto received = ends.reader.post({{in.data(), nullptr, nullptr}, in.size()});
  EXPECT_TRUE(ends.reader.progress()) << "the first part";
  ends.writer.reset(1);
  out.assign(out.size(), std::byte{0xee});
  EXPECT_FALSE(ends.reader.progress());
  EXPECT_FALSE(ends.reader.done(received));
  ends.reader.reset(1);
  ends.teach();
}

TEST(ShmWireFetching, WhereTheSystemForbidsItMessagesStreamThroughTheRing) {
  ChannelEnds ends(/*token_error=*/2);  // whoever answers to that process number is not the sender
  ends.teach();
  EXPECT_EQ(ends.verdict(), Fetching::refused);
  const auto out = message(Rank{0}, Rank{1}, 1, 3 * kRingBytes);
  std::vector<std::byte> in(out.size());
  ends.writer.post({out.data(), out.size()});
  ends.reader.post({{in.data(), nullptr, nullptr}, in.size()});
  ends.settle();
  EXPECT_EQ(in, out);
}

TEST(PeerMemory, OfAProcessThatIsGoneNothingIsRead) {
  MemoryCard card{};
  EXPECT_FALSE(PeerMemory(card).is_readable()) << "no card has been filled in";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const MemoryOwner owner(card);
  card.process.store(child);
  std::byte byte{};
  EXPECT_FALSE(PeerMemory(card).is_readable());
  EXPECT_EQ(PeerMemory(card).read(&byte, card.where.load(), 1), 0u);
}

/// The sender's process has promised a message from its own memory and ended.
TEST(ShmWireFetching, ASenderThatIsGoneIsNamed) {
  const AnonymousRegion region(2);
  const std::size_t bytes = 2 * kRingBytes;
  const pid_t child = ::fork();
  if (child == 0) {
    ShmWire wire(region.span(), Rank{1}, 2);
    const std::vector<std::byte> out(bytes);
    const Request first =
        wire.send(Rank{0}, out.data(), bytes);  // which tells whether the next can be fetched
    finish(wire, first);
    std::byte go{};
    finish(wire, wire.receive(Rank{0}, {&go, nullptr, nullptr}, 1));  // the ring is empty
    wire.send(Rank{0}, out.data(), bytes);
    while (wire.progress()) {
    }
    ::_exit(0);
  }
  ShmWire wire(region.span(), Rank{0}, 2);
  std::vector<std::byte> in(bytes);
  finish(wire, wire.receive(Rank{1}, {in.data(), nullptr, nullptr}, bytes));
  const std::byte go{1};
  finish(wire, wire.send(Rank{1}, &go, 1));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(wire.lost().empty());
  const Request second = wire.receive(Rank{1}, {in.data(), nullptr, nullptr}, bytes);
  for (int i = 0; i < 10; ++i) wire.progress();
  EXPECT_FALSE(wire.done(second));
  const std::vector<LostRank> lost = wire.lost();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost.front().rank, Rank{1});
  EXPECT_NE(lost.front().reason, "");
}

}  // namespace
}  // namespace hemiola
