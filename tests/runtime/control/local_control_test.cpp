// SPDX-License-Identifier: Apache-2.0
// The control plane of one machine, and what only that does.
#include "hemiola/runtime/control/local/local_control.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "contracts/control_contract.hpp"
#include "contracts/local_sessions.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/local/local_choices.hpp"
#include "in_process/in_process_session.hpp"

namespace hemiola::testing {
namespace {

const auto kLocal = std::make_shared<const LocalControl>();

INSTANTIATE_TEST_SUITE_P(Local, SessionContract, ::testing::Values(SessionCase{"Local", local_sessions}),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Local, ControlContract,
                         ::testing::Values(ControlCase{"Local", local_sessions, kLocal}), name_of_control);

TEST(LocalControl, RanksWithoutCommonMemoryAreToldSo) {
  const auto sessions = InProcessSession::make(1);
  EXPECT_THROW(kLocal->connect({sessions[0], {Rank{0}}, Rank{0}}, Deadline(1)), ArgumentError);
}

TEST(LocalChoices, ThatTakeTooMuchAreRefusedAndCanStillSaySo) {
  const auto sessions = local_sessions(1);
  const Control control = kLocal->connect({sessions[0], {Rank{0}}, Rank{0}}, Deadline(60));
  const ChoiceKey key{3, {1, 2}};
  ASSERT_TRUE(control.choices->claim(key));
  EXPECT_THROW(control.choices->decide(key, Bytes(LocalChoices::kArenaBytes)), ArgumentError);
  control.choices->decide(key, Bytes(Choices::kSmallBytes, std::byte{1}));
  EXPECT_EQ(control.choices->look(key).bytes.size(), Choices::kSmallBytes);
  ASSERT_TRUE(control.choices->claim({4, {1, 2}}));
  control.choices->decide({4, {1, 2}}, Bytes(1 << 20));
}

/// A rank has overwritten one word of the memory that all share, each in turn, with numbers that lead far away, or in circles.
/// Expect an answer or a FormatError, and no read from outside.
TEST(LocalChoices, ThatAnotherRankHasDamagedAreRefused) {
  void* const memory = ::mmap(nullptr, LocalChoices::region_bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span region(static_cast<std::byte*>(memory), LocalChoices::region_bytes());
  LocalChoices choices(region, Rank{1}, 3);
  const auto key = [](std::uint64_t i) { return ChoiceKey{0, {i, i / 2 * 4096}}; };  // two in each list
  for (std::uint64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(choices.claim(key(i)));
    choices.decide(key(i), Bytes(100 * i, std::byte{1}));
  }
  const auto words = std::span(reinterpret_cast<std::uint64_t*>(memory), (64 << 10) / sizeof(std::uint64_t));
  std::size_t damaged = 0, refused = 0;
  for (std::uint64_t& word : words) {
    const std::uint64_t sound = word;
    if (sound == 0) continue;
    for (const std::uint64_t odd : {sound ^ 64, sound ^ 1, sound ^ 1 << 20, sound ^ 1 << 30,
                                    sound | 0xffff'ffff, sound >> 1, ~std::uint64_t{0}}) {
      word = odd;
      ++damaged;
      for (std::uint64_t i = 0; i < 7; ++i) try {
          EXPECT_LE(choices.look(key(i)).bytes.size(), LocalChoices::kArenaBytes);
        } catch (const FormatError&) {
          ++refused;
        }
    }
    word = sound;
  }
  EXPECT_GT(damaged, 100u);
  EXPECT_GT(refused, 100u);
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(choices.look(key(i)).bytes.size(), 100 * i);
  ::munmap(memory, region.size());
}

}  // namespace
}  // namespace hemiola::testing
