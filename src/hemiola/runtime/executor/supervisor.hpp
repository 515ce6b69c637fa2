// SPDX-License-Identifier: Apache-2.0
// The engine's questions to its starter.
#pragma once

#include "hemiola/base/index.hpp"

namespace hemiola {

class Supervisor {
 public:
  virtual ~Supervisor() = default;
  /// Whether bytes from this rank may land: it is here and does the same operation. Asked again until true; throws to
  /// abort.
  virtual bool admits(Rank peer) = 0;
  /// Called every few milliseconds while nothing moves; throws to abort (deadline, a death, the user's interrupt).
  virtual void check() = 0;
  /// Whether a caller waits for the result. Otherwise its core is wanted for other work meanwhile.
  virtual bool is_awaited() const { return true; }
};

}  // namespace hemiola
