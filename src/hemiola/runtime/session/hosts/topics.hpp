// SPDX-License-Identifier: Apache-2.0
// The topics of the ranks' messages by courier before they have a communicator, one number each.
#pragma once

#include "hemiola/runtime/session/courier.hpp"

namespace hemiola {

enum : Topic {
  // Of ExchangeDesk:
  kBringing = 1,
  kQuestion,
  kOutcome,
  kPresence,
  // Of SurvivorsDesk:
  kVote,
  kVoteQuestion,
  kVotePresence,
  // Of CauseDesk:
  kCause,
  // Of Roster:
  kJoining,
  kRefusal,
};

}  // namespace hemiola
