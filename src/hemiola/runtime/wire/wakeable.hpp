// The part of a wire that wakes a rank which waits for several wires at once.
#pragma once

namespace hemiola {

class Wakeable {
 public:
  virtual ~Wakeable() = default;

  /// Can be read once a message may have moved, but only between `arm` and `disarm`.
  virtual int wake_descriptor() = 0;
  /// Moves what can move and says whether something has; where not, shortens the timeout to what the wire can bear.
  virtual bool arm(int* timeout_us) = 0;
  virtual void disarm() {}
};

}  // namespace hemiola
