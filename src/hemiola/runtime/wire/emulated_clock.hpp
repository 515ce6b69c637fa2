// SPDX-License-Identifier: Apache-2.0
// The part of a wire that only one around a model of a network has: a clock that it moves itself.
#pragma once

#include <cstdint>

#include "hemiola/runtime/wire/network_slowdown.hpp"

namespace hemiola {

class EmulatedClock {
 public:
  virtual ~EmulatedClock() = default;

  virtual std::int64_t now_ns() const = 0;
  /// This rank's core has just worked so long on its messages, while the clock may have stood still: messages sent from now
  /// on start no sooner than after that work.
  virtual void charge(std::int64_t core_ns) = 0;
  /// From now on the network is slower than its own speed by so much. Any rank may say so for all, from any thread. Throws
  /// ArgumentError for a link that it does not have.
  virtual void slow_down(const NetworkSlowdown& slowdown) = 0;
};

}  // namespace hemiola
