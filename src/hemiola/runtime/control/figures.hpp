// SPDX-License-Identifier: Apache-2.0
// The figures of each rank's port meter in the latest operations.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace hemiola {

/// Every rank shows operation g when all have come to g, and reads it when all have come to g+1. So all ranks read the
/// same. An operation that failed is neither shown nor read by anybody.
class Figures {
 public:
  virtual ~Figures() = default;

  /// `shares`: by rank, 0 where nothing was measured; or several rows of that, where ranks have no memory in common.
  virtual void show(std::uint64_t number, std::span<const float> shares) = 0;

  /// Called now and then while the figures of others are under way; throws to abort.
  using Check = std::function<void()>;
  /// Per rank, the best share that it or another has seen of its port in operation `number`; 0 where nobody has. False:
  /// no rank has measured anything.
  virtual bool read(std::uint64_t number, std::span<double> best_share, const Check& check) const = 0;
};

}  // namespace hemiola
