// SPDX-License-Identifier: Apache-2.0
// The clock that all processes of a machine share, by which the ranks of one host tell the time.
#pragma once

#include <cstdint>
#include <ctime>

namespace hemiola {

/// CLOCK_MONOTONIC.
inline std::int64_t machine_now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace hemiola
