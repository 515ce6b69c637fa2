// SPDX-License-Identifier: Apache-2.0
// The error of a rank that waited for all members to come, or to be lost.
#pragma once

#include <string>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/absence.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {

/// The session fills in when.
[[noreturn]] inline void throw_absent_survivors(const std::vector<Rank>& absent, const Deadline& deadline) {
  const std::string did = "did not come within " + format_seconds(deadline.seconds()) + " and is not lost";
  const Cause cause = absence_of(absent, did, 0);
  throw AbsentMemberError(
      "going on without lost ranks: " + cause.text() + "; every rank that lives must call shrink()", cause);
}

}  // namespace hemiola
