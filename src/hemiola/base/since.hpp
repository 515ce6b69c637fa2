// SPDX-License-Identifier: Apache-2.0
// For how long something has been so, as seen by one that looks every few milliseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace hemiola {

class Since {
 public:
  /// More between two looks is an absence of the looker itself, which has not seen what happened meanwhile.
  static constexpr std::int64_t kMostBetweenLooks_ns = 20'000'000;

  /// It is so now. Returns whether it has been for `limit_ns`, without the looker's absences.
  bool has_lasted(std::int64_t limit_ns, std::int64_t now_ns) {
    if (last_ns_) seen_ns_ += std::min(now_ns - *last_ns_, kMostBetweenLooks_ns);
    last_ns_ = now_ns;
    return seen_ns_ >= limit_ns;
  }

 private:
  std::optional<std::int64_t> last_ns_;
  std::int64_t seen_ns_ = 0;
};

}  // namespace hemiola
