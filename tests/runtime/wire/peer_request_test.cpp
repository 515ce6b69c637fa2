// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/peer_request.hpp"

#include <gtest/gtest.h>

namespace hemiola {
namespace {

TEST(PeerRequest, SaysWhatItWasNamedBy) {
  using Numbered = PeerRequest<47>;
  constexpr std::uint64_t kLast = (std::uint64_t{1} << 47) - 1;
  for (const int peer : {0, 1, 65'535})
    for (const std::uint64_t number : {std::uint64_t{1}, kLast}) {
      const Numbered out(Numbered::outgoing(Rank{peer}, number)), in(Numbered::incoming(Rank{peer}, number));
      EXPECT_EQ(out.peer(), static_cast<std::size_t>(peer));
      EXPECT_EQ(in.peer(), static_cast<std::size_t>(peer));
      EXPECT_EQ(out.number(), number);
      EXPECT_EQ(in.number(), number);
      EXPECT_FALSE(out.is_incoming());
      EXPECT_TRUE(in.is_incoming());
    }
}

TEST(PeerRequest, WithFewerNumbersTellsMorePeersApart) {
  using Numbered = PeerRequest<43>;
  const Numbered last(Numbered::incoming(Rank{(1 << 20) - 1}, 1));
  EXPECT_EQ(last.peer(), (std::size_t{1} << 20) - 1);
  EXPECT_EQ(last.number(), 1u);
  EXPECT_TRUE(last.is_incoming());
}

}  // namespace
}  // namespace hemiola
