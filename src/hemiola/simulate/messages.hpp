// SPDX-License-Identifier: Apache-2.0
// The transfers that are one message: all from one rank to another in one step. A message occupies every link
// of its path for some time beside its bytes, once, when the first of its chunks may go; chunks that may go
// later join it for nothing.
#pragma once

#include <vector>

#include "hemiola/simulate/scenario.hpp"

namespace hemiola::simulation {

class Messages {
 public:
  explicit Messages(const Scenario& scenario);

  /// Whether no link that anything passes takes time for a message.
  bool are_free() const { return first_.empty(); }
  /// The first transfer of t's message, which stands for it; only where messages are not free.
  TransferId of(TransferId t) const { return first_[t]; }

 private:
  std::vector<TransferId> first_;  ///< per transfer; empty where messages are free
};

}  // namespace hemiola::simulation
