// SPDX-License-Identifier: Apache-2.0
// Accepts connections to this rank's listening socket. They are handed on once they are proved; strangers are shown
// out.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "hemiola/runtime/net/handshake.hpp"

namespace hemiola {

/// A connection that somebody of the job has made.
struct ProvedConnection {
  ByteStream socket;
  Rank rank;
  std::uint64_t purpose;
};

struct AcceptorLimits {
  int most_unproved =
      128;  ///< one more waits in the kernel's queue until the oldest has had some time, and goes
  std::chrono::milliseconds patience{5000};
};

/// Nothing here blocks. Used by one thread at a time.
class Acceptor {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws a LostRankError if the system lacks descriptors or memory.
  Acceptor(Descriptor listener, Credentials own, const AcceptorLimits& limits = {});
  Acceptor(const Acceptor&) = delete;

  /// Where it listens.
  const Endpoint& endpoint() const { return endpoint_; }
  const Credentials& credentials() const { return own_; }

  /// Goes on with everybody who has come, and returns the connections that are proved by now. To be called when
  /// `descriptor` can be read, and every second or so even if it cannot.
  std::vector<ProvedConnection> poll();

  /// For poll or epoll: can be read when somebody has come, or said something.
  int descriptor() const { return events_.get(); }

  /// The failures since the last call, for a log: refused strangers, no room for more. A line each, at most some ten,
  /// then how many more.
  std::vector<std::string> take_complaints();

 private:
  struct Unproved {
    Handshake handshake;
    Clock::time_point since;
  };

  void accept_all();
  bool has_place();
  void rest();
  void stop_resting();
  void go_on(std::vector<ProvedConnection>* arrivals);
  void complain(const std::string& text);

  Descriptor listener_;
  Credentials own_;
  AcceptorLimits limits_;
  Endpoint endpoint_;
  Descriptor events_;
  std::list<Unproved> unproved_;  ///< the oldest first
  bool is_resting_ = false;
  Clock::time_point rests_until_{};
  std::vector<std::string> complaints_;
  int unsaid_ = 0;
};

}  // namespace hemiola
