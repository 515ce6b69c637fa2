// SPDX-License-Identifier: Apache-2.0
// The session and the control plane between threads keep the same contracts as those of processes.
#include <gtest/gtest.h>

#include "../contracts/control_contract.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/hosts/hosts_control.hpp"
#include "in_process_control.hpp"
#include "in_process_session.hpp"

namespace hemiola::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(InProcess, SessionContract,
                         ::testing::Values(SessionCase{"InProcess", InProcessSession::make}), name_of_case);
INSTANTIATE_TEST_SUITE_P(InProcess, ControlContract,
                         ::testing::Values(ControlCase{"InProcess", InProcessSession::make,
                                                       std::make_shared<const InProcessControl>()}),
                         name_of_control);

INSTANTIATE_TEST_SUITE_P(Hosts, ControlContract,
                         ::testing::Values(ControlCase{"Hosts", InProcessSession::make,
                                                       std::make_shared<const HostsControl>()}),
                         name_of_control);

TEST(InProcessSession, AMemberThatIsLostEndsAnExchangeThatNeedsIt) {
  const auto sessions = InProcessSession::make(2);
  static_cast<InProcessSession&>(*sessions[0]).lose(Rank{1}, "its thread has ended");
  EXPECT_THROW(sessions[0]->exchange({Rank{0}, Rank{1}}, "x", {}, Deadline(60)), LostRankError);
  ASSERT_EQ(sessions[0]->lost().size(), 1u);
  EXPECT_EQ(sessions[0]->lost()[0].reason, "its thread has ended");
}

}  // namespace
}  // namespace hemiola::testing
