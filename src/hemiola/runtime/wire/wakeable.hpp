// SPDX-License-Identifier: Apache-2.0
// The part of a wire that wakes a rank which waits for several wires at once.
#pragma once

namespace hemiola {

class Wakeable {
 public:
  virtual ~Wakeable() = default;

  /// Can be read once a message may have moved, but only between `arm` and `disarm`.
  virtual int wake_descriptor() = 0;
  /// Moves all bytes that can move and returns whether any have; if not, shortens the timeout to the wire's limit.
  virtual bool arm(int* timeout_us) = 0;
  virtual void disarm() {}
};

}  // namespace hemiola
