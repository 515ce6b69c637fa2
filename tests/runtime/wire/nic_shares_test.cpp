// SPDX-License-Identifier: Apache-2.0
// Which NICs the connections of a pair take.
#include "hemiola/runtime/wire/tcp/nic_shares.hpp"

#include <gtest/gtest.h>

namespace hemiola::testing {
namespace {

using Speeds = std::vector<std::uint32_t>;
using Nics = std::vector<std::size_t>;

TEST(NicShares, EquallyFastNicsHaveOneConnectionEach) {
  EXPECT_EQ(nic_of_each_line(Speeds{7}), Nics{0});
  EXPECT_EQ(nic_of_each_line(Speeds{100, 100}), (Nics{0, 1}));
  EXPECT_EQ(nic_of_each_line(Speeds{25, 25, 25, 25}), (Nics{0, 1, 2, 3}));
}

TEST(NicShares, AFasterNicHasMoreConnectionsAndTheyAreSpreadOut) {
  EXPECT_EQ(nic_of_each_line(Speeds{200, 100}), (Nics{0, 0, 1}));
  EXPECT_EQ(nic_of_each_line(Speeds{100, 300}), (Nics{1, 1, 0, 1}));
}

/// Given 1 and 100 Gbit/s. Derivation: one message in n on the slow NIC takes 1/n of a message's time there, which is
/// longer than 1/100 for any n up to 8. Expect the fast one alone.
TEST(NicShares, ANicThatWouldOnlyHoldTheOthersUpHasNone) {
  EXPECT_EQ(nic_of_each_line(Speeds{1'000, 100'000}), Nics{1});
}

}  // namespace
}  // namespace hemiola::testing
