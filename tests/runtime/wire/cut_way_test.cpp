// SPDX-License-Identifier: Apache-2.0
// One of two NICs of a pair of ranks is cut, at random bytes and moments: messages go on over the other one, each byte once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/wire/tcp/kept_bytes.hpp"
#include "hemiola/runtime/wire/tcp/tcp_wire.hpp"
#include "net/cut_nic.hpp"

namespace hemiola::testing {
namespace {

constexpr double kLong_s = 60;

/// Two ranks with two NICs each, in this process.
struct Pair {
  Pair() {
    const Token token = Token::random();
    std::vector<std::unique_ptr<Door>> doors;
    std::vector<TcpPeer> peers;
    for (const Rank rank : {Rank{0}, Rank{1}}) {
      const auto reception = std::make_shared<Reception>(listen_at(Endpoint::parse("0.0.0.0")),
                                                         Credentials{.token = token, .rank = rank});
      doors.push_back(reception->open());
      TcpPeer peer{.world_rank = rank, .door = doors.back()->number(), .nics = {}};
      for (const Endpoint& nic : kNics)
        peer.nics.push_back({.endpoints = {nic.with_port(reception->endpoint().port())}});
      peers.push_back(peer);
    }
    for (std::size_t i = 0; i < 2; ++i)
      wires.push_back(std::make_unique<TcpWire>(std::move(doors[i]), Rank{i}, peers));
  }
  TcpWire& operator[](std::size_t rank) { return *wires[rank]; }
  std::vector<std::unique_ptr<TcpWire>> wires;
};

void add(std::byte* to, const std::byte* a, const std::byte* b, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint32_t)) {
    std::uint32_t x, y;
    std::memcpy(&x, a + i, sizeof x);
    std::memcpy(&y, b + i, sizeof y);
    x += y;
    std::memcpy(to + i, &x, sizeof x);
  }
}

std::uint32_t value(Rank from, std::size_t message, std::size_t i) {
  return static_cast<std::uint32_t>(from * 1'000'003 + message * 7919 + i);
}

/// The messages of one rank to the other, of which every second is added to what is there.
struct Traffic {
  Traffic(Random* random, Rank from, std::size_t count) : from(from) {
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t words = random->below(4) == 0 ? random->below(500'000) : random->below(3000);
      out.emplace_back(words);
      in.emplace_back(words, k % 2 == 0 ? 0 : 5);
      for (std::size_t i = 0; i < words; ++i) out.back()[i] = value(from, k, i);
    }
  }
  void post(Pair* pair) {
    for (std::size_t k = 0; k < out.size(); ++k) {
      const std::size_t bytes = out[k].size() * sizeof(std::uint32_t);
      auto* const to = reinterpret_cast<std::byte*>(in[k].data());
      const Landing landing{.dst = to, .operand = to, .combine = k % 2 == 0 ? nullptr : add};
      const auto rank = static_cast<std::size_t>(from);
      sent.push_back((*pair)[rank].send(Rank{1 - from}, reinterpret_cast<const std::byte*>(out[k].data()),
                                        bytes, Source::settled));
      received.push_back((*pair)[1 - rank].receive(from, landing, bytes));
    }
  }
  /// A message that is sent may be changed, as a caller does.
  void spoil_what_is_sent(Pair* pair) {
    for (; spoilt < sent.size() && (*pair)[static_cast<std::size_t>(from)].done(sent[spoilt]); ++spoilt)
      std::fill(out[spoilt].begin(), out[spoilt].end(), 0xdead'beef);
  }
  bool is_over(Pair* pair) const { return (*pair)[static_cast<std::size_t>(1 - from)].done(received.back()); }
  void check() const {
    for (std::size_t k = 0; k < in.size(); ++k)
      for (std::size_t i = 0; i < in[k].size(); ++i)
        ASSERT_EQ(in[k][i], value(from, k, i) + (k % 2 == 0 ? 0 : 5)) << "message " << k << ", word " << i;
  }

  Rank from;
  std::vector<std::vector<std::uint32_t>> out, in;
  std::vector<Request> sent, received;
  std::size_t spoilt = 0;
};

/// Lets both go on, cuts the NICs of `cuts` one after the other at random moments, and expects that all comes.
void run_with_cuts(std::uint64_t seed, const std::vector<int>& cuts) {
  Random random(seed);
  Pair pair;
  std::vector<Traffic> all{{&random, Rank{0}, 60}, {&random, Rank{1}, 60}};
  for (Traffic& each : all) each.post(&pair);
  std::size_t next_cut = 0;
  std::uint32_t steps_left = 1 + random.below(100);
  const Deadline deadline(kLong_s);
  const auto is_over = [&] { return all[0].is_over(&pair) && all[1].is_over(&pair); };
  while (!is_over() && !deadline.passed()) {
    for (std::size_t rank : {0u, 1u})
      if (random.below(3) > 0 && !pair[rank].progress()) pair[rank].wait(next_cut < cuts.size() ? 1 : 1000);
    for (Traffic& each : all) each.spoil_what_is_sent(&pair);
    if (next_cut == cuts.size() || --steps_left > 0 || cut(cuts[next_cut]) == 0) continue;
    ++next_cut;
    steps_left = 1 + random.below(20'000);  // the next one comes before, while or after messages move
  }
  ASSERT_TRUE(is_over()) << "seed " << seed;
  EXPECT_GE(next_cut, 1u) << "the cut comes too late";
  for (const Traffic& each : all) each.check();
  for (std::size_t rank : {0u, 1u}) EXPECT_TRUE(pair[rank].lost().empty());
}

/// Given 100 bytes of which 30 are acknowledged, 20 more, and 110 of all. Expect the rest of the last bytes.
TEST(KeptBytes, AreThoseThatAreNotAcknowledged) {
  Bytes all(120);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
  KeptBytes kept;
  kept.append(30, std::span(all).first(100));
  EXPECT_EQ(kept.begin(), 30u);
  EXPECT_TRUE(std::ranges::equal(kept.from(30), std::span(all).subspan(30, 70)));
  kept.append(40, std::span(all).last(20));
  EXPECT_TRUE(std::ranges::equal(kept.from(50), std::span(all).subspan(50)));
  kept.drop_before(110);
  EXPECT_TRUE(std::ranges::equal(kept.from(kept.begin()), std::span(all).last(10)));
  kept.append(125, std::span(all).first(10));
  EXPECT_EQ(kept.begin(), 125u);
  EXPECT_TRUE(std::ranges::equal(kept.from(125), std::span(all).subspan(5, 5)));
  kept.restart();
  EXPECT_TRUE(kept.empty());
  EXPECT_EQ(kept.end(), 0u);
}

TEST(CutWay, MessagesGoOnOverTheOtherNicAndNoByteComesTwice) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) run_with_cuts(seed, {static_cast<int>(seed % 2)});
}

TEST(CutWay, MessagesGoOnThoughTheOtherNicIsCutMeanwhile) {
  for (std::uint64_t seed = 100; seed < 106; ++seed)
    run_with_cuts(seed, {static_cast<int>(seed % 2), static_cast<int>(1 - seed % 2)});
}

}  // namespace
}  // namespace hemiola::testing
