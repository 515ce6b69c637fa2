// SPDX-License-Identifier: Apache-2.0
// The decisions in the order in which sends start: which chunk crosses which channel in which step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hemiola/base/huge_pages.hpp"

namespace hemiola::trees {

struct Send {
  std::int32_t step;
  std::uint32_t channel;  ///< carries at most one chunk in a step
  std::uint32_t chunk;
  bool reduce = false;

  friend bool operator<(const Send& a, const Send& b) {
    return a.step != b.step ? a.step < b.step : a.channel < b.channel;
  }
};

using Sends = LargeVector<Send>;

inline int step_count(const Sends& sends) {
  int count = 0;
  for (const Send& send : sends) count = std::max(count, send.step + 1);
  return count;
}

}  // namespace hemiola::trees
