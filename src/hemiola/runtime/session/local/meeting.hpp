// SPDX-License-Identifier: Apache-2.0
// How the ranks of one machine find each other: rank 0 listens, the others come, and all leave with one
// shared memory and a descriptor of every process. Nobody leaves before all are there; a mistake of one rank
// is told to all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/descriptor.hpp"
#include "hemiola/runtime/session/local/local_session.hpp"

namespace hemiola {

struct Meeting {
  Descriptor memory;
  std::vector<Descriptor> processes;  ///< one pidfd per rank
};

/// Throws the errors of LocalSession::join.
Meeting meet(const SessionOptions& options);

/// The two parts. `host` returns nothing when somebody else listens at the session's name; `visit` when
/// nobody does, or when the listener left before it took notice of us (it was busy closing an earlier meeting
/// of the same name).
std::optional<Meeting> host(const SessionOptions& options, const Descriptor& own_process,
                            const Deadline& deadline);
std::optional<Meeting> visit(const SessionOptions& options, const Descriptor& own_process,
                             const Deadline& deadline);

}  // namespace hemiola
