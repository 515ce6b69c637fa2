// SPDX-License-Identifier: Apache-2.0
// The ranks of one machine find each other, share memory and learn of one another's death. No root, no
// daemon, nothing in the file system: an abstract Unix socket to meet at, anonymous shared memory, and a
// pidfd per rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/session/local/lobby.hpp"
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

  struct Entry {
    std::string name;     ///< the session's
    std::string version;  ///< the same as the job's
    double timeout_s = 60.0;
    Deadline::Check check = {};
  };
  /// A newcomer's part of a running session. It may wait for its seat. Throws the errors of Lobby::enter.
  static std::shared_ptr<LocalSession> enter(const Entry& entry);
  /// The same, or a session of this process alone where there is none; its lobby is open.
  static std::shared_ptr<LocalSession> enter_or_found(const Entry& entry);
  /// What the job's members have told newcomers; empty for those that founded it.
  virtual const std::string& invitation() const = 0;

  struct Seat {
    std::string agreement;      ///< the name of the one that has let this newcomer in
    std::vector<Rank> members;  ///< its answer
  };
  /// Says that this newcomer is ready, and waits until members let it in. Throws TimeoutError where they do not, and
  /// LostRankError where none of them lives.
  virtual Seat await_seat(const Deadline& deadline) = 0;

  /// For ranks of several hosts, which agree elsewhere: meets processes that have entered since.
  virtual void meet_entered() = 0;
  /// Of this machine's memories, which one the session has.
  virtual std::uint64_t memory_number() const = 0;
};

}  // namespace hemiola
