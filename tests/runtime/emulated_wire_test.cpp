// The emulated network's arithmetic, and its clock over a wire between threads.
#include "hemiola/runtime/wire/emulated/emulated_wire.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hemiola {
namespace {

using Path = std::span<const int>;

TEST(FairShares, FlowsOfOneLinkGetEqualParts) {
  const std::array<int, 1> link{0};
  const std::array<Path, 3> paths{link, link, link};
  std::array<double, 3> rates;
  share_fairly(paths, {6.0}, rates);
  EXPECT_EQ(rates, (std::array{2.0, 2.0, 2.0}));
}

// Given three flows, over links a and b, a only, b only; a carries 1, b carries 10.
// Derivation: a's two flows get 1/2 each; the third takes what b has left, 10 - 1/2.
TEST(FairShares, AFlowTakesWhatOthersCannotUse) {
  const std::array<int, 2> both{0, 1};
  const std::array<int, 1> a{0}, b{1};
  const std::array<Path, 3> paths{both, a, b};
  std::array<double, 3> rates;
  share_fairly(paths, {1.0, 10.0}, rates);
  EXPECT_DOUBLE_EQ(rates[0], 0.5);
  EXPECT_DOUBLE_EQ(rates[1], 0.5);
  EXPECT_DOUBLE_EQ(rates[2], 9.5);
}

}  // namespace
}  // namespace hemiola
