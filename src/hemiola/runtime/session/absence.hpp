// SPDX-License-Identifier: Apache-2.0
// The cause that ranks did not come.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hemiola/runtime/session/cause.hpp"
#include "hemiola/runtime/session/rank_list.hpp"

namespace hemiola {

/// Blames the first of some ranks, and names the others behind it. `did`: "did not come within 2 s".
inline Cause absence_of(const std::vector<Rank>& absent, const std::string& did, std::int64_t at_ns) {
  Cause cause{.rank = absent.front(), .reason = did, .at_ns = at_ns, .is_absence = true};
  const std::vector<Rank> others(absent.begin() + 1, absent.end());
  if (!others.empty())
    cause.reason += "; neither did rank" + std::string(others.size() == 1 ? " " : "s ") + rank_list(others);
  return cause;
}

}  // namespace hemiola
