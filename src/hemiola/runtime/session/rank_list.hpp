// SPDX-License-Identifier: Apache-2.0
// Ranks as messages name them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// "0, 1 and 5"; at most eight, then how many more.
inline std::string rank_list(const std::vector<Rank>& ranks) {
  constexpr std::size_t kMost = 8;
  const std::size_t named = std::min(ranks.size(), kMost);
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (ranks.size() > named) text += " and " + std::to_string(ranks.size() - named) + " more";
  return text;
}

}  // namespace hemiola
