// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/move_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hemiola/base/bulk_copy.hpp"
#include "hemiola/base/plain_copy.hpp"

namespace hemiola {
namespace {

TEST(MoveCost, ShortMovesAreDoneAndTellNothing) {
  MoveCost cost;
  int moves = 0;
  cost.measure(MoveCost::kLeastBytes - 1, [&] { ++moves; });
  EXPECT_EQ(cost.per_byte(), 0);
  cost.measure(MoveCost::kLeastBytes, [&] {
    for (const std::uint64_t begin = ticks(); ticks() < begin + 100;) {
    }
    ++moves;
  });
  EXPECT_GE(cost.per_byte(), 100 / static_cast<float>(MoveCost::kLeastBytes));
  EXPECT_EQ(moves, 2);
}

TEST(MoveCost, TrialsAreOftenAtFirstAndNeverStop) {
  Trials trials;
  std::vector<int> at;
  for (int choice = 1; choice <= 1024; ++choice)
    if (trials.next()) at.push_back(choice);
  EXPECT_EQ(at, (std::vector<int>{1, 2, 4, 8, 16, 32, 64, 128, 256, 257, 512, 513, 768, 769, 1024}));
}

/// Given bytes from any place, in any number. Expect them where they were sent, and nothing beside them touched.
TEST(MoveCost, ACopyPastTheCachesIsACopy) {
  alignas(kStoreLine) std::array<std::byte, 512> to{};
  std::array<std::byte, 512> from{};
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (const std::size_t offset : {0u, 1u, 63u})
    for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 200u, 256u}) {
      to.fill(std::byte{0});
      bypassing_copy(to.data(), from.data() + offset, bytes);
      EXPECT_TRUE(std::equal(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(bytes),
                             from.begin() + static_cast<std::ptrdiff_t>(offset)));
      EXPECT_TRUE(std::all_of(to.begin() + static_cast<std::ptrdiff_t>(bytes), to.end(),
                              [](std::byte b) { return b == std::byte{0}; }));
    }
}

/// The same from and to any two places in a page, among them those where the C library's copy may stumble.
TEST(MoveCost, APlainCopyIsACopyWhereverItsEndsLie) {
  constexpr std::size_t kPage = 4096;
  std::vector<std::byte> to(4 * kPage), from(4 * kPage);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
  const std::uintptr_t apart =
      reinterpret_cast<std::uintptr_t>(to.data()) - reinterpret_cast<std::uintptr_t>(from.data());
  const std::size_t alike = (kPage - apart % kPage) % kPage;  // from here on `to` lies as `from` does
  for (const std::size_t further : {0u, 1u, 16u, 63u, 64u, 4095u})
    for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 5000u}) {
      std::ranges::fill(to, std::byte{0});
      std::byte* const begin = to.data() + alike + further;
      EXPECT_EQ(is_little_further(begin, reinterpret_cast<std::uintptr_t>(from.data())),
                further > 0 && further < 64);
      plain_copy(begin, from.data(), bytes);
      EXPECT_TRUE(std::equal(begin, begin + bytes, from.begin()))
          << further << " further, " << bytes << " bytes";
      EXPECT_TRUE(
          std::all_of(begin + bytes, to.data() + to.size(), [](std::byte b) { return b == std::byte{0}; }));
    }
}

std::array<int, 3> taken{};  // by way

template <std::size_t kWay, int kRepeats>
void counting_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  ++taken[kWay];
  for (int i = 0; i < kRepeats; ++i) {
    std::memcpy(to, from, bytes);
    asm volatile("" ::"r"(to) : "memory");
  }
}

constexpr std::array<CopyFunction, 3> kCountedWays{counting_copy<0, 60>, counting_copy<1, 1>,
                                                   counting_copy<2, 30>};

TEST(MoveCost, ALearntCopierGoesTheCheapestWayAndTriesAllOthers) {
  LearntCopier<kCountedWays> copier;
  std::vector<std::byte> from(16 << 10, std::byte{7}), to(from.size());
  taken = {};
  constexpr int copies = 4096;
  for (int i = 0; i < copies; ++i) copier.copy(to.data(), from.data(), from.size());
  EXPECT_EQ(taken[0] + taken[1] + taken[2], copies);
  EXPECT_GT(taken[0], 0);
  EXPECT_GT(taken[2], 0);
  EXPECT_GT(taken[1], copies / 2);
}

TEST(MoveCost, WhatIsTooShortToTellAnythingGoesTheFirstWay) {
  LearntCopier<kCountedWays> copier;
  std::vector<std::byte> from(MoveCost::kLeastBytes - 1), to(from.size());
  taken = {};
  for (int i = 0; i < 100; ++i) copier.copy(to.data(), from.data(), from.size());
  EXPECT_EQ(taken, (std::array<int, 3>{100, 0, 0}));
}

TEST(MoveCost, CopiesInQuartersEndWhereTheyShould) {
  std::array<std::byte, 1200> to{}, from{};
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 255u, 256u, 257u, 511u, 512u, 700u, 1024u, 1199u}) {
    to.fill(std::byte{0});
    copy_in_quarters(to.data(), from.data(), bytes);
    const auto end = to.begin() + static_cast<std::ptrdiff_t>(bytes);
    EXPECT_TRUE(std::equal(to.begin(), end, from.begin())) << bytes;
    EXPECT_TRUE(std::all_of(end, to.end(), [](std::byte b) { return b == std::byte{0}; })) << bytes;
  }
}

TEST(MoveCost, WhatIsUnknownIsChosenFirstThenTheCheapestAllButTrialsOfTheOthers) {
  WayChooser chooser;
  EXPECT_EQ(chooser.choose(std::array<float, 3>{0, 1, 0}), 2u);
  EXPECT_EQ(chooser.choose(std::array<float, 3>{0, 1, 2}), 0u);
  std::vector<std::size_t> chosen;
  for (int i = 0; i < 9; ++i) chosen.push_back(chooser.choose(std::array<float, 3>{3, 1, 2}));
  EXPECT_EQ(chosen, (std::vector<std::size_t>{2, 2, 1, 0, 1, 1, 1, 0, 1}));
  EXPECT_EQ(chooser.choose(std::array<float, 1>{4}), 0u);
}

/// Given choices of three ways and of the first two of them in turn. Expect that none is chosen that is not there.
TEST(MoveCost, AChoiceOfFewerWaysIsOneOfThese) {
  constexpr std::array<float, 3> kCosts{1, 2, 3};
  WayChooser chooser;
  for (int choice = 0; choice < 4096; ++choice) {
    const std::size_t ways = choice % 3 == 0 ? 3 : 2;
    EXPECT_LT(chooser.choose(std::span(kCosts).first(ways)), ways) << choice;
  }
}

/// Given two ways that cost about the same, of which now one and now the other is the cheapest, and a dear one. Expect that
/// the dear one has its trials.
TEST(MoveCost, AWayHasItsTrialsThoughTheOthersTakeTurnsToBeTheCheapest) {
  WayChooser chooser;
  int dear = 0;
  for (int choice = 1; choice <= 64; ++choice) {
    // Trials are the choices 1, 2, 4, 8, 16, 32 and 64, each pair of which tries one way.
    const bool first = choice <= 2 || choice > 8;
    dear += chooser.choose(std::array<float, 3>{first ? 1.0f : 2.0f, first ? 2.0f : 1.0f, 9}) == 2;
  }
  EXPECT_GE(dear, 2);
  EXPECT_LE(dear, 4);
}

}  // namespace
}  // namespace hemiola
