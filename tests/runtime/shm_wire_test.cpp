// The shared-memory wire between threads that share one region (so that ThreadSanitizer sees both ends) and
// between forked processes.
#include "hemiola/runtime/wire/shm/shm_wire.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/engine/combine.hpp"

namespace hemiola {
namespace {

/// Zero-filled memory that forked children share.
class SharedRegion {
 public:
  explicit SharedRegion(int rank_count) : bytes_(ShmWire::region_bytes(rank_count)) {
    start_ =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedRegion() { ::munmap(start_, bytes_); }
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
  const SharedRegion region(rank_count);
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

TEST(ShmWire, CarriesMessagesOfEverySizeAroundTheRing) {
  const std::vector<std::size_t> sizes{0,
                                       1,
                                       63,
                                       64,
                                       65,
                                       4096,
                                       kPieceBytes - 1,
                                       kPieceBytes,
                                       kPieceBytes + 1,
                                       kRingBytes - 64,
                                       kRingBytes,
                                       kRingBytes + 1,
                                       3 * kRingBytes + 17,
                                       0,
                                       5};
  on_threads(2, [&](ShmWire& wire, Rank rank) {
    const Rank other{1 - rank};
    for (std::size_t n = 0; n < sizes.size(); ++n) {
      const auto out = message(rank, other, n, sizes[n]);
      std::vector<std::byte> in(sizes[n] + 2, std::byte{0xee});
      const Request sent = wire.send(other, out.data(), sizes[n]);
      finish(wire, wire.receive(other, {in.data() + 1, nullptr, nullptr}, sizes[n]));
      finish(wire, sent);
      EXPECT_EQ(in.front(), std::byte{0xee});
      EXPECT_EQ(in.back(), std::byte{0xee});
      EXPECT_EQ(std::vector<std::byte>(in.begin() + 1, in.end() - 1), message(other, rank, n, sizes[n]))
          << "size " << sizes[n];
    }
  });
}

TEST(ShmWire, DeliversInOrderWhateverIsPostedFirst) {
  on_threads(2, [&](ShmWire& wire, Rank rank) {
    const std::size_t count = 200, bytes = 3000;
    if (rank == Rank{0}) {
      std::vector<std::vector<std::byte>> out;
      std::vector<Request> requests;
      for (std::size_t n = 0; n < count; ++n) out.push_back(message(Rank{0}, Rank{1}, n, bytes + n));
      for (std::size_t n = 0; n < count; ++n)
        requests.push_back(wire.send(Rank{1}, out[n].data(), bytes + n));
      for (std::size_t n = count; n-- > 0;) finish(wire, requests[n]);
      for (Request request : requests) EXPECT_TRUE(wire.done(request)) << "done stays true";
    } else {
      std::vector<std::vector<std::byte>> in(count);
      Request last{};
      for (std::size_t n = 0; n < count; ++n) {
        in[n].resize(bytes + n);
        last = wire.receive(Rank{0}, {in[n].data(), nullptr, nullptr}, bytes + n);
      }
      finish(wire, last);
      for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(in[n], message(Rank{0}, Rank{1}, n, bytes + n)) << n;
    }
  });
}

TEST(ShmWire, CombinesAsItLandsEvenAcrossPiecesAndTheRingsEnd) {
  const std::size_t count = kRingBytes / 4 * 3 + 1;  // floats: three rings and one element
  on_threads(2, [&](ShmWire& wire, Rank rank) {
    const Rank other{1 - rank};
    std::vector<float> own(count), result(count);
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < count; ++i)
        own[i] = static_cast<float>(i % 1000 * static_cast<std::size_t>(rank + 1 + round));
      const Landing landing{reinterpret_cast<std::byte*>(result.data()),
                            reinterpret_cast<const std::byte*>(own.data()),
                            combine_for(DType::float32, Op::sum)};
      const Request sent = wire.send(other, reinterpret_cast<const std::byte*>(own.data()), count * 4);
      finish(wire, wire.receive(other, landing, count * 4));
      finish(wire, sent);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(result[i], static_cast<float>(i % 1000 * static_cast<std::size_t>(3 + 2 * round))) << i;
    }
  });
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

/// Random sizes and a random order of posting between all pairs: everyone gets what was sent to it.
TEST(ShmWire, CarriesRandomTrafficBetweenAllPairs) {
  const int rank_count = 4;
  const std::size_t rounds = 12;
  const std::uint64_t seed = 2024;
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto size_of = [&](Rank src, Rank dst, std::size_t n) {
    Random random(seed + 1000 * n + static_cast<std::uint64_t>(10 * src + dst));
    return random.below(3) == 0 ? random.below(3 * kPieceBytes) : random.below(500);
  };
  on_threads(rank_count, [&](ShmWire& wire, Rank rank) {
    std::vector<std::vector<std::byte>> out, in;
    std::vector<Request> requests;
    out.reserve(rounds * rank_count);
    in.reserve(rounds * rank_count);
    for (std::size_t n = 0; n < rounds; ++n)
      for (int shift = 0; shift < rank_count; ++shift) {
        const Rank dst{(rank + shift) % rank_count}, src{(rank + rank_count - shift) % rank_count};
        out.push_back(message(rank, dst, n, size_of(rank, dst, n)));
        in.emplace_back(size_of(src, rank, n));
        requests.push_back(wire.send(dst, out.back().data(), out.back().size()));
        requests.push_back(wire.receive(src, {in.back().data(), nullptr, nullptr}, in.back().size()));
        if (n % 3 == 0) wire.progress();
      }
    for (Request request : requests) finish(wire, request);
    for (std::size_t n = 0; n < rounds; ++n)
      for (int shift = 0; shift < rank_count; ++shift) {
        const Rank src{(rank + rank_count - shift) % rank_count};
        EXPECT_EQ(in[n * rank_count + static_cast<std::size_t>(shift)],
                  message(src, rank, n, size_of(src, rank, n)));
      }
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

TEST(ShmWire, WaitReturnsAfterItsTimeoutWhenNothingHappens) {
  const SharedRegion region(2);
  ShmWire wire(region.span(), Rank{0}, 2);
  std::byte in{};
  const Request request = wire.receive(Rank{1}, {&in, nullptr, nullptr}, 1);
  wire.wait(1000);
  EXPECT_FALSE(wire.done(request));
}

/// Rank 0 has half a message in flight when both reset, at different times. Nothing old arrives, new messages
/// do.
TEST(ShmWire, ResetDropsWhatWasInFlightAndStartsAgain) {
  const SharedRegion region(2);
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
  const SharedRegion region(1);
  ChannelControl& control = *new (region.span().data()) ChannelControl{};
  std::byte* ring = region.span().data() + 4096;
  MemoryCard card{};
  std::vector<std::byte> bounce(kFetchBytes);
  const std::uint32_t near_end = 0u - 4096u;  // a multiple of the ring's lines: offset 0
  control.written.store(near_end);
  control.freed.store(near_end);
  struct Writer : ChannelWriter {
    using ChannelWriter::ChannelWriter;
    void start_at(std::uint32_t line) { position_.line = line; }
  } writer(control, ring);
  struct Reader : ChannelReader {
    using ChannelReader::ChannelReader;
    void start_at(std::uint32_t line) { position_.line = line; }
  } reader(control, ring, PeerMemory(card), bounce.data());
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
        bounce_(kFetchBytes),
        writer(control_, region_.span().data() + 4096),
        reader(control_, region_.span().data() + 4096, PeerMemory(card_), bounce_.data()) {
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
  Fetching verdict() const { return control_.fetching.load(); }

 private:
  SharedRegion region_;
  ChannelControl& control_;
  MemoryCard card_{};
  MemoryOwner owner_;
  std::vector<std::byte> bounce_;

 public:
  ChannelWriter writer;
  ChannelReader reader;
};

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

TEST(ShmWire, RefusesARegionThatIsTooSmallAndARankOutOfRange) {
  const SharedRegion region(2);
  EXPECT_THROW(ShmWire(region.span().first(4096), Rank{0}, 2), ArgumentError);
  EXPECT_THROW(ShmWire(region.span(), Rank{2}, 2), ArgumentError);
  EXPECT_THROW(ShmWire(region.span(), Rank{-1}, 2), ArgumentError);
  EXPECT_THROW(ShmWire(region.span().subspan(8), Rank{0}, 2), ArgumentError);
}

TEST(ShmWire, UntouchedChannelsCostNoMemory) {
  const int rank_count = 64;
  const SharedRegion region(rank_count);
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
  const SharedRegion region(3);
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
