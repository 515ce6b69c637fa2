// What a rank's word that it gives a communicator up means to the others: the same cause, and not that rank.
#pragma once

#include <cstdint>
#include <string>

#include "hemiola/runtime/control/pulse.hpp"
#include "hemiola/runtime/session/members.hpp"

namespace hemiola {

/// How long it may take, once somebody has given up or closed its communicator, until this rank has seen for itself what that
/// one has seen.
inline constexpr std::int64_t kSurrenderGrace_ns = 200'000'000;

/// For those that wait for a rank that has given up, but not for one that has only closed. `where`: what precedes.
[[noreturn]] inline void throw_surrender(const Pulse::GivenUp& given_up, const Members& members,
                                         const std::string& where = "") {
  members.throw_for(given_up.cause, where + members.described(given_up.cause));
}

}  // namespace hemiola
