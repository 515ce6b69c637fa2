// SPDX-License-Identifier: Apache-2.0
// Signs of life, and the word of a rank that gives up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

/// Why a rank has given the communicator up; the others raise the error of the same name. A rank that has closed it may be
/// done with all that they wait for; one that has aborted it wants them to end.
enum class Failure : std::uint32_t { none, lost_rank, timeout, interrupted, closed, aborted };

/// Ranks by their number in the group.
class Pulse {
 public:
  virtual ~Pulse() = default;

  /// Says that this rank is waiting, not stopped; called now and then during an operation, and before one, while another
  /// rank chooses its schedule.
  virtual void beat() = 0;
  /// When the rank last said so, by the session's clock; 0: never.
  virtual std::int64_t last_sign_ns(Rank rank) const = 0;

  /// Says that this rank will take no further part, and the cause: one of its own if no other rank is to blame. The
  /// first time counts.
  virtual void give_up(Failure failure, const Cause& cause) = 0;
  struct GivenUp {
    Rank rank;
    Failure failure;
    Cause cause;  ///< its reason may be cut short
  };
  /// The other ranks that have, in their order.
  virtual std::vector<GivenUp> given_up() const = 0;

  /// Ranks that the control plane itself can no longer reach; those that the session has lost need not be among them.
  virtual std::vector<LostRank> lost() const = 0;
};

}  // namespace hemiola
