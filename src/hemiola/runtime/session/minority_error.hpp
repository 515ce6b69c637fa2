// SPDX-License-Identifier: Apache-2.0
// The error of a rank that is not on the side of a cut job that may go on.
#pragma once

#include "hemiola/base/error.hpp"

namespace hemiola {

struct MinorityError : LostRankError {
  using LostRankError::LostRankError;
};

}  // namespace hemiola
