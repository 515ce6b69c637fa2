// SPDX-License-Identifier: Apache-2.0
// Errors that know the rank to blame, and its fault.
#pragma once

#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/cause.hpp"

namespace hemiola {

struct LostMemberError : LostRankError {
  LostMemberError(const std::string& text, Rank lost, Cause why)
      : LostRankError(text), rank(lost), cause(std::move(why)) {}
  Rank
      rank;  ///< by its number in the communicator that lost it; Cause::kNobody where it is none of its ranks
  Cause cause;
};

struct AbsentMemberError : TimeoutError {
  AbsentMemberError(const std::string& text, Cause why) : TimeoutError(text), cause(std::move(why)) {}
  Cause cause;
};

struct DifferingMemberError : MismatchError {
  DifferingMemberError(const std::string& text, Cause why) : MismatchError(text), cause(std::move(why)) {}
  Cause cause;
};

/// A rank has sent an impossible message. Bytes from another process are never a bug of this one.
struct BadMessageError : FormatError {
  BadMessageError(Rank sender_, std::string what_)
      : FormatError("rank " + std::to_string(sender_) + " has sent what no rank sends: " + what_),
        sender(sender_),
        what_came(std::move(what_)) {}
  BadMessageError(const std::string& text, Rank sender_, Cause why)
      : FormatError(text), sender(sender_), cause(std::move(why)) {}
  Rank sender;            ///< by its number where the message came: in the group of a wire, say
  std::string what_came;  ///< where there is no cause yet
  Cause cause;            ///< blames nobody until a communicator has named its rank
};

/// Throws the error that a cause means. `number`: of whom it blames, in the communicator that the error is about.
[[noreturn]] inline void throw_for(const Cause& cause, Rank number, const std::string& text) {
  if (cause.is_absence) throw AbsentMemberError(text, cause);
  throw LostMemberError(text, number, cause);
}

}  // namespace hemiola
