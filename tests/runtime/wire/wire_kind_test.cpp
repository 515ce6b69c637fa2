// SPDX-License-Identifier: Apache-2.0
// What a rank brings to the exchange of cards, in which everybody gets everybody's: its size does not grow with the members.
#include "hemiola/runtime/wire/wire_kind.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "contracts/on_threads.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/wire/routed/routed_kind.hpp"
#include "hemiola/runtime/wire/shm/shm_kind.hpp"
#include "hemiola/runtime/wire/tcp/tcp_kind.hpp"

namespace hemiola::testing {
namespace {

struct Brought : std::runtime_error {
  explicit Brought(std::size_t bytes) : std::runtime_error("an exchange"), bytes(bytes) {}
  std::size_t bytes;
};

/// A rank of a job without others: an exchange throws the size of what this rank brings.
class LoneSession final : public Session {
 public:
  explicit LoneSession(int rank_count) : rank_count_(rank_count) {}

  Rank rank() const override { return Rank{0}; }
  int rank_count() const override { return rank_count_; }
  int host_of(Rank rank) const override { return rank; }
  std::vector<Bytes> exchange(const std::vector<Rank>&, std::string_view, std::span<const std::byte> own,
                              const Deadline&) override {
    throw Brought(own.size());
  }
  std::shared_ptr<SharedRegion> shared(const std::vector<Rank>&, std::size_t, const Deadline&) override {
    return nullptr;
  }
  std::vector<LostRank> lost() const override { return {}; }
  std::vector<Rank> next_members(const std::vector<Rank>& members, std::string_view, const Wishes&,
                                 const Deadline&) override {
    return members;
  }
  ClockReading clock() const override { return {}; }

 private:
  void publish_cause(const std::optional<Cause>&) override {}

  const int rank_count_;
};

/// As a communicator of ranks on a host each asks for them: one wire for collectives, one for messages.
std::size_t bytes_brought(const std::vector<Rank>& ranks) {
  const WireChoice choose = [] {
    const Endpoint here = Endpoint::parse("127.0.0.1");
    auto reception = std::make_shared<Reception>(listen_at(here), Credentials{.token = Token::random()});
    const NicAddresses nic{.endpoints = {here}};
    return std::make_shared<RoutedKind>(std::vector<std::shared_ptr<WireKind>>{
        std::make_shared<ShmKind>(), std::make_shared<TcpKind>(TcpOptions{std::move(reception), {nic}})});
  };
  const std::vector<WireChoice> choices{choose, choose};
  Members members{std::make_shared<LoneSession>(static_cast<int>(ranks.size())), ranks, Rank{0}};
  try {
    connect_wires({.choices = choices}, &members, Deadline(60));
  } catch (const Brought& brought) {
    return brought.bytes;
  }
  return 0;
}

/// For each wire a card of 40 bytes, 32 of them by TCP with one address; 13 of name; 9 of lengths and kind. Terms and order
/// have lengths of 4 bytes each. The order is one run of 8 bytes, or in the worst case a run for each rank.
TEST(WireKind, WhatARankBringsDoesNotGrowWithTheMembers) {
  constexpr std::size_t kWires = 2 * (40 + 13 + 9), kLengths = 8, kRun = 8;
  for (const int count : {8, 512, 4096}) {
    std::vector<Rank> ranks = all_ranks(count);
    EXPECT_EQ(bytes_brought(ranks), kWires + kLengths + kRun) << count;
    std::ranges::reverse(ranks);
    EXPECT_EQ(bytes_brought(ranks), kWires + kLengths + kRun * ranks.size()) << count;
  }
}

}  // namespace
}  // namespace hemiola::testing
