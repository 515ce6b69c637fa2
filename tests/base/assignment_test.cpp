// SPDX-License-Identifier: Apache-2.0
// Assignments against all permutations of small matrices.
#include "hemiola/base/assignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace hemiola {
namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

double total(const std::vector<double>& cost, const std::vector<int>& columns) {
  double sum = 0;
  for (std::size_t row = 0; row < columns.size(); ++row)
    sum += cost[row * columns.size() + static_cast<std::size_t>(columns[row])];
  return sum;
}

double least_of_all(const std::vector<double>& cost, int n) {
  std::vector<int> columns(static_cast<std::size_t>(n));
  std::iota(columns.begin(), columns.end(), 0);
  double least = kForbidden;
  do least = std::min(least, total(cost, columns));
  while (std::next_permutation(columns.begin(), columns.end()));
  return least;
}

TEST(Assignment, IsTheCheapestOfAllPermutations) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const int n = 1 + static_cast<int>(random() % 6);
    const unsigned forbidden_percent = (random() % 4) * 20;
    std::vector<double> cost(static_cast<std::size_t>(n * n));
    for (double& each : cost)  // whole numbers, so that sums are exact and many are equal
      each = random() % 100 < forbidden_percent ? kForbidden : static_cast<double>(random() % 12) - 5.0;
    const auto found = assignment(cost, n);
    const double least = least_of_all(cost, n);
    ASSERT_EQ(found.has_value(), least < kForbidden) << "round " << round;
    if (found) {
      std::vector<int> sorted = *found;
      std::sort(sorted.begin(), sorted.end());
      for (int column = 0; column < n; ++column) ASSERT_EQ(sorted[static_cast<std::size_t>(column)], column);
      ASSERT_EQ(total(cost, *found), least) << "round " << round;
    }
  }
}

TEST(Assignment, OfEqualCostsIsTheDiagonal) {
  EXPECT_EQ(assignment(std::vector<double>(25, 3.5), 5), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(Assignment, OfNoRowsIsEmpty) {
  EXPECT_EQ(assignment({}, 0), std::vector<int>{});
}

}  // namespace
}  // namespace hemiola
