// SPDX-License-Identifier: Apache-2.0
// Shared memory between threads or forked processes, wires over it, and both ends of one channel.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <functional>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include "hemiola/runtime/wire/shm/shm_wire.hpp"

namespace hemiola::testing {

inline constexpr std::size_t kRingBytes = ring_bytes(1);

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

inline void finish(ShmWire& wire, Request request) {
  for (int idle = 0; !wire.done(request);) {
    idle = wire.progress() ? 0 : idle + 1;
    if (idle > 100) wire.wait(1000);
  }
}

/// Runs `body(wire)` for every rank in a thread of its own.
inline void on_threads(int rank_count, const std::function<void(ShmWire&, Rank)>& body) {
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
inline std::byte byte_of(Rank src, Rank dst, std::size_t number, std::size_t index) {
  return static_cast<std::byte>(index * 7 + index / 251 + number * 31 +
                                static_cast<std::size_t>(src * 5 + dst));
}

inline std::vector<std::byte> message(Rank src, Rank dst, std::size_t number, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = byte_of(src, dst, number, i);
  return data;
}

/// Two ends of one channel in one process, which may read its own memory.
class ChannelEnds {
 public:
  explicit ChannelEnds(std::uint64_t token_error = 0)
      : region_(1),
        control_(*new (region_.span().data()) ChannelControl{}),
        owner_(card_),
        bounce_(kBounceBytes),
        writer(control_, Ring(region_.span().data() + 4096, kRingBytes), nullptr),
        reader(control_, Ring(region_.span().data() + 4096, kRingBytes), Rank{0}, PeerMemory(card_), nullptr,
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

}  // namespace hemiola::testing
