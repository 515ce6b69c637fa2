// SPDX-License-Identifier: Apache-2.0
// How a rank came to an operation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hemiola {

struct Arrival {
  static constexpr std::int64_t kUnknownTime = -1;

  std::int64_t at_ns = kUnknownTime;  ///< by the session's clock
  std::int64_t own_ns = -1;           ///< its own time since the operation before; -1: there was none
};

/// Of so many latest operations arrivals are kept.
constexpr std::size_t kKeptArrivals = 512;

}  // namespace hemiola
