// SPDX-License-Identifier: Apache-2.0
// When a rank from which signs of life are due counts as standing still.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hemiola/runtime/session/members.hpp"

namespace hemiola {

/// `timeout_s`: after which the asking rank gives up.
inline bool is_silent(const Members& members, std::int64_t last_sign_ns, double timeout_s) {
  const auto silence_ns = static_cast<std::int64_t>(1e9 * std::min(0.5, timeout_s / 2));
  return members.now_ns() - last_sign_ns > silence_ns;
}

}  // namespace hemiola
