// SPDX-License-Identifier: Apache-2.0
// The measure of ports during an operation.
#pragma once

#include <span>

namespace hemiola {

class PortGauge {
 public:
  virtual ~PortGauge() = default;

  /// By rank, this one among them: the best speed of its port since the last `clear`, as a share of the healthy one, at
  /// most 1; 0 where nothing could be told.
  virtual std::span<const float> shares() const = 0;
  virtual bool has_measured() const = 0;

  /// Per peer, the speed that has certainly been reached on the way to it and on the way from it, in the same way.
  struct PairShares {
    float to = 0;
    float from = 0;
  };
  virtual std::span<const PairShares> pairs() const = 0;

  /// Forgets rates, and the open measurements of an operation.
  virtual void clear() = 0;
};

}  // namespace hemiola
