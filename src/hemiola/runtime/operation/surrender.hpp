// SPDX-License-Identifier: Apache-2.0
// The cause that other ranks report when a rank gives a communicator up: the cause of that rank, and not the rank
// itself.
#pragma once

#include <cstdint>
#include <string>

#include "hemiola/runtime/control/pulse.hpp"
#include "hemiola/runtime/session/members.hpp"

namespace hemiola {

/// After a rank has given up or closed its communicator, this rank may take so long to see the same cause itself.
inline constexpr std::int64_t kSurrenderGrace_ns = 200'000'000;

/// For those that wait for a rank that has given up, but not for one that has only closed. `where`: the words before.
[[noreturn]] inline void throw_surrender(const Pulse::GivenUp& given_up, const Members& members,
                                         const std::string& where = "") {
  members.throw_for(given_up.cause, where + members.described(given_up.cause));
}

}  // namespace hemiola
