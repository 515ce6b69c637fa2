// The control plane of one machine, and what only that does.
#include "hemiola/runtime/control/local/local_control.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hemiola::testing
