// SPDX-License-Identifier: Apache-2.0
// For how long something has been so, since it was first seen.
#pragma once

#include <cstdint>
#include <optional>

namespace hemiola {

class Since {
 public:
  /// It is so now. Returns whether it has been for `limit_ns`.
  bool has_lasted(std::int64_t limit_ns, std::int64_t now_ns) {
    if (!first_ns_) first_ns_ = now_ns;
    return now_ns - *first_ns_ >= limit_ns;
  }

 private:
  std::optional<std::int64_t> first_ns_;
};

}  // namespace hemiola
