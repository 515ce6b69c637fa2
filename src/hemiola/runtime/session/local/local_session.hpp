// SPDX-License-Identifier: Apache-2.0
// The ranks of one machine find each other, share memory and learn of one another's death. No root, no
// daemon, nothing in the file system: an abstract Unix socket to meet at, anonymous shared memory, and a
// pidfd per rank.
#pragma once

#include <memory>
#include <string>

#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

struct SessionOptions {
  Rank rank;
  int rank_count = 1;
  std::string name;            ///< the same on all ranks of one job, different between jobs of one user
  double timeout_s = 60.0;     ///< how long to wait for the others
  Deadline::Check check = {};  ///< called now and then meanwhile; throws to stop waiting
};

class LocalSession : public Session {
 public:
  /// Blocks until all ranks are here. Throws TimeoutError that names the missing ranks, ArgumentError for a
  /// rank out of range or taken twice or counts that differ (naming both).
  static std::shared_ptr<LocalSession> join(const SessionOptions& options);
};

}  // namespace hemiola
