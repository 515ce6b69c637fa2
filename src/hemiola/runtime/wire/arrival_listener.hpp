// SPDX-License-Identifier: Apache-2.0
// The listener that a wire tells of bytes as they come, if the wire learns the times.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// The bytes that were read at once of a stream of messages from one peer.
struct ArrivedBytes {
  Rank from{0};
  std::size_t stream = 0;  ///< the wire's number of it
  std::size_t bytes = 0;
  bool follows =
      false;  ///< of the messages that it began, the first was to be sent before the one before it had left
  bool is_amid = false;  ///< a message has come in part, so that its sender had more to send
  bool is_all = false;   ///< nothing else had come by now: bytes that are read later come later
};

class ArrivalListener {
 public:
  virtual ~ArrivalListener() = default;
  /// `now_ns` by the wire's clock.
  virtual void came(const ArrivedBytes& arrived, std::int64_t now_ns) = 0;
  /// Nothing more is there to be read, and this rank begins to wait.
  virtual void waits() = 0;
};

}  // namespace hemiola
