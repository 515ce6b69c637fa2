// SPDX-License-Identifier: Apache-2.0
// A process that comes to a job while the job runs.
#pragma once

#include <cstdint>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

/// A process that asks to be let in, as one member knows it.
struct Guest {
  std::uint64_t id = 0;  ///< random, of this process alone
  Rank number{-1};       ///< its number in the session, given with the proposal
  Bytes card{};          ///< what members must know of it
  friend bool operator==(const Guest&, const Guest&) = default;
};

}  // namespace hemiola
