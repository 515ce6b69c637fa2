// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/fair_filling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hemiola/base/random.hpp"
#include "max_min_fair.hpp"

namespace hemiola {
namespace {

using Paths = std::vector<std::vector<int>>;

std::vector<double> rates_of(FairFilling* filling, const Paths& paths, const std::vector<double>& capacity) {
  const std::vector<std::span<const int>> spans(paths.begin(), paths.end());
  const auto rates = filling->fill(spans, capacity);
  expect_max_min_fair(capacity, spans, rates);
  return {rates.begin(), rates.end()};
}

/// Out of ports 0 … n-1 and into ports n … 2n-1, every pair.
Paths exchange(int n) {
  Paths paths;
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      if (a != b) paths.push_back({a, n + b});
  return paths;
}

TEST(FairFilling, NoFlowsHaveNoRates) {
  FairFilling filling;
  EXPECT_TRUE(rates_of(&filling, {}, {1, 2}).empty());
}

TEST(FairFilling, WhatOneFlowCannotUseTheOtherGets) {
  FairFilling filling;
  EXPECT_EQ(rates_of(&filling, {{0, 2}, {1, 2}}, {0.25, 1, 1}), (std::vector<double>{0.25, 0.75}));
}

TEST(FairFilling, EqualFlowsHaveExactlyEqualRates) {
  FairFilling filling;
  const auto rates = rates_of(&filling, exchange(8), std::vector<double>(16, 1.0));
  EXPECT_EQ(std::count(rates.begin(), rates.end(), 1.0 / 7), 56);
}

TEST(FairFilling, AFillingKnowsNothingOfTheOneBefore) {
  FairFilling filling;
  rates_of(&filling, exchange(8), std::vector<double>(16, 1.0));
  EXPECT_EQ(rates_of(&filling, {{0}}, {10.0}), (std::vector<double>{10.0}));
}

// Few levels are found by looks at all flows, many by links that lead to their flows: ports of two speeds, and of as many
// as there are ports.
TEST(FairFilling, RatesAreMaxMinFairAtFewLevelsAndAtMany) {
  FairFilling filling;
  for (const std::uint32_t speeds : {1u, 2u, 5u, 1000u})
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(testing::Message() << speeds << " speeds, seed " << seed);
      Random random(seed);
      std::vector<double> capacity(32);
      for (double& c : capacity) c = 1 + random.below(speeds);
      rates_of(&filling, exchange(16), capacity);
      Paths paths(120);
      for (auto& path : paths) {
        for (int l = 0; l < 32; ++l)
          if (random.below(8) == 0) path.push_back(l);
        if (path.empty()) path.push_back(static_cast<int>(random.below(32)));
      }
      rates_of(&filling, paths, capacity);
    }
}

}  // namespace
}  // namespace hemiola
