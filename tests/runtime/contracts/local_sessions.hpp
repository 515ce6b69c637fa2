// SPDX-License-Identifier: Apache-2.0
// The sessions of a new job on this machine, for as many threads.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/session/local/local_session.hpp"
#include "on_threads.hpp"

namespace hemiola::testing {

inline std::vector<std::shared_ptr<Session>> local_sessions(int rank_count) {
  static std::atomic<int> count{0};
  const std::string name = "contract-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  std::vector<std::shared_ptr<Session>> sessions(static_cast<std::size_t>(rank_count));
  on_threads(rank_count, [&](Rank rank) {
    sessions[static_cast<std::size_t>(rank)] = LocalSession::join({rank, rank_count, name, 60});
  });
  return sessions;
}

}  // namespace hemiola::testing
