// What only the shared-memory wire does, between threads that share one region and between forked processes. What every
// wire does is in contracts/wire_contract.hpp.
#include "hemiola/runtime/wire/shm/shm_wire.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/executor/host/combine.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kRingBytes = ring_bytes(1);

/// Zero-filled memory that forked children share.
class AnonymousRegion {
 public:
  explicit AnonymousRegion(int rank_count) : bytes_(ShmWire::region_bytes(rank_count)) {
    start_ =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~AnonymousRegion() { ::munmap(start_, bytes_); }
  std::span<std::byte> span() const { return {static_cast<std::byte*>(start_), bytes_}; }

 private:
  std::size_t bytes_;
  void* start_;
};

void finish(ShmWire& wire, Request request) {
  for (int idle = 0; !wire.done(request);) {
    idle = wire.progress() ? 0 : idle + 1;
    if (idle > 100) wire.wait(1000);
  }
}

/// Runs `body(wire)` for every rank in a thread of its own.
void on_threads(int rank_count, const std::function<void(ShmWire&, Rank)>& body) {
  const AnonymousRegion region(rank_count);
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(rank_count))
    threads.emplace_back([&, rank] {
      ShmWire wire(region.span(), rank, rank_count);
      body(wire, rank);
    });
  for (std::thread& thread : threads) thread.join();
}

/// The byte at `index` of message `number` from `src` to `dst`.
std::byte byte_of(Rank src, Rank dst, std::size_t number, std::size_t index) {
  return static_cast<std::byte>(index * 7 + index / 251 + number * 31 +
                                static_cast<std::size_t>(src * 5 + dst));
}

std::vector<std::byte> message(Rank src, Rank dst, std::size_t number, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = byte_of(src, dst, number, i);
  return data;
}

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
  } writer(control, Ring(ring, kRingBytes));
  struct Reader : ChannelReader {
    using ChannelReader::ChannelReader;
    void start_at(std::uint32_t line) { position_.line = line; }
  } reader(control, Ring(ring, kRingBytes), Rank{0}, PeerMemory(card), bounce.data(), &own);
  writer.start_at(near_end);
  reader.start_at(near_end);
  const auto out = message(Rank{0}, Rank{0}, 1, 3 * kRingBytes);
  std::vector<std::byte> in(out.size());
  writer.post({out.data(), out.size()});
  reader.post({{in.data(), nullptr, nullptr}, in.size()});
  while (!reader.idle()) ASSERT_TRUE(writer.progress() | reader.progress());
  EXPECT_EQ(in, out);
}

/// Two ends of one channel in one process, which may read its own memory.
class ChannelEnds {
 public:
  explicit ChannelEnds(std::uint64_t token_error = 0)
      : region_(1),
        control_(*new (region_.span().data()) ChannelControl{}),
        owner_(card_),
        bounce_(kBounceBytes),
        writer(control_, Ring(region_.span().data() + 4096, kRingBytes)),
        reader(control_, Ring(region_.span().data() + 4096, kRingBytes), Rank{0}, PeerMemory(card_),
               bounce_.data(), &own) {
    card_.token.fetch_xor(token_error);
  }
  /// Moves all there is to move.
  void settle() {
    while (writer.progress() | reader.progress()) {
    }
  }
  /// The first big message goes through the ring and lets the reader find out whether it could have fetched it.
  void teach() {
    const std::vector<std::byte> out(kBigBytes, std::byte{1});
    std::vector<std::byte> in(kBigBytes);
    writer.post({out.data(), out.size()});
    reader.post({{in.data(), nullptr, nullptr}, in.size()});
    settle();
    ASSERT_EQ(in, out);
  }
  std::uint32_t lines_freed() const { return ChannelPosition::load(control_.freed).line; }
  Fetching verdict() const { return control_.fetching.load(); }
  void say_fetching_costs(float cost) {
    for (ReadingCosts& costs : control_.costs) costs.take[static_cast<std::size_t>(Way::fetched)].store(cost);
  }
  struct Streaming {
    float take, arrive;
  };
  void say_streaming_costs(const Streaming& cost) {
    for (ReadingCosts& costs : control_.costs)
      for (std::size_t way = 0; way < kWaysThroughRing; ++way) {
        costs.take[way].store(cost.take);
        costs.arrive[way].store(cost.arrive);
      }
  }
  const ReadingCosts& costs(std::size_t kind) const { return control_.costs[kind]; }

 private:
  AnonymousRegion region_;
  ChannelControl& control_;
  MemoryCard card_{};
  MemoryOwner owner_;
  std::vector<std::byte> bounce_;

 public:
  OperationTag own;
  ChannelWriter writer;
  ChannelReader reader;
};

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

/// Given ten messages of each of four operations, the second and third with a hint. Expect a line more for each operation whose
/// signature they bear, and where they bear none for the hint's coming and its going.
TEST(ShmWire, ATagTakesALineWhereItIsAnotherThanTheLastOnes) {
  for (const bool with_signatures : {false, true}) {
    ChannelEnds ends;
    for (const std::uint32_t operation : {1u, 2u, 3u, 4u}) {
      ends.own = with_signatures ? OperationTag{operation, 0, 5} : OperationTag{};
      OperationTag tag = ends.own;
      tag.has_hint = operation == 2 || operation == 3;
      const std::byte out{7};
      for (int i = 0; i < 10; ++i) {
        std::byte in{};
        ends.writer.post({.data = &out, .bytes = 1, .tag = tag});
        ends.reader.post({{&in, nullptr, nullptr}, 1});
        ends.settle();
        EXPECT_EQ(in, out);
      }
      EXPECT_EQ(ends.own.has_hint, tag.has_hint);
    }
    EXPECT_EQ(ends.lines_freed(), with_signatures ? 44u : 42u);
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

/// A first line as no rank writes it: shorter than any big message, a way that there is not, an address that nobody has. Expect an
/// error that names the writer.
TEST(ShmWire, ABigMessageThatNoRankSendsNamesItsWriter) {
  for (const BigHeader header : {BigHeader{0, 0, Way::cached}, BigHeader{kBigBytes - 1, 0, Way::cached},
                                 BigHeader{kBigBytes, 0, Way{3}}, BigHeader{kBigBytes, 0, Way{0xffff'ffff}},
                                 BigHeader{kBigBytes, 8, Way::fetched}}) {
    const AnonymousRegion region(1);
    ChannelControl& control = *new (region.span().data()) ChannelControl{};
    std::byte* const ring = region.span().data() + 4096;
    MemoryCard card{};
    const MemoryOwner owner(card);
    std::vector<std::byte> bounce(kBounceBytes), in(kBigBytes);
    OperationTag own;
    ChannelReader reader(control, Ring(ring, kRingBytes), Rank{4}, PeerMemory(card), bounce.data(), &own);
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
