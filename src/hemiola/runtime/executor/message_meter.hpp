// SPDX-License-Identifier: Apache-2.0
// The listener that an executor tells of every message, if ports are worth measuring.
#pragma once

#include <cstdint>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// A message as the executor sees it.
struct MeteredMessage {
  std::int32_t lane = 0;  ///< its port and direction, as the program numbers them
  Rank peer{0};
  bool sending = false;
  std::int64_t bytes = 0;
  std::int32_t task = 0;  ///< of the program
};

class MessageMeter {
 public:
  virtual ~MessageMeter() = default;
  /// A message is under way. Those with one peer in one direction finish in the order in which they are posted.
  virtual void posted(const MeteredMessage& message, std::int64_t now_ns) = 0;
  virtual void finished(const MeteredMessage& message, std::int64_t now_ns) = 0;
};

}  // namespace hemiola
