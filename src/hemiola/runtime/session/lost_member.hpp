// The loss of a rank, as an error that knows which one it is.
#pragma once

#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

struct LostMemberError : LostRankError {
  LostMemberError(const std::string& text, Rank lost, Rank lost_in_session)
      : LostRankError(text), rank(lost), world_rank(lost_in_session) {}
  Rank rank;        ///< by its number in the communicator that lost it
  Rank world_rank;  ///< by its number in the session
};

}  // namespace hemiola
