// What a rank's word that it gives a communicator up means to the others: the same error, in their own words.
#pragma once

#include <cstdint>
#include <string>

#include "hemiola/runtime/control/pulse.hpp"
#include "hemiola/runtime/session/members.hpp"

namespace hemiola {

/// How long it may take, once somebody has given up or closed its communicator, until this rank has seen for itself what that
/// one has seen.
inline constexpr std::int64_t kSurrenderGrace_ns = 200'000'000;

/// "rank 2 has given up: …"
inline std::string described(const Pulse::GivenUp& given_up, const Members& members) {
  if (given_up.failure == Failure::aborted) return given_up.text;  // which says so
  return members.name(given_up.rank) + " has given up: " + given_up.text;
}

/// For those that wait for a rank that has given up, but not for one that has only closed. `where`: what precedes.
[[noreturn]] inline void throw_surrender(const Pulse::GivenUp& given_up, const Members& members,
                                         const std::string& where = "") {
  const std::string text = where + described(given_up, members);
  if (given_up.failure == Failure::timeout) throw TimeoutError(text);
  throw members.lost(given_up.culprit, text);
}

}  // namespace hemiola
