// The ranks of one machine find each other, share memory and learn of one another's death. No root, no
// daemon, nothing in the file system: an abstract Unix socket to meet at, anonymous shared memory, and a
// pidfd per rank.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

struct SessionOptions {
  Rank rank;
  int rank_count = 1;
  std::string name;         ///< the same on all ranks of one job, different between jobs of one user
  double timeout_s = 60.0;  ///< how long to wait for the others
};

class LocalSession {
 public:
  /// Blocks until all ranks are here. Throws TimeoutError that names the missing ranks, ArgumentError for a
  /// rank out of range or taken twice or counts that differ (naming both).
  static std::shared_ptr<LocalSession> join(const SessionOptions& options);
  virtual ~LocalSession() = default;

  virtual Rank rank() const = 0;
  virtual int rank_count() const = 0;

  /// A zero-filled region that the ranks in `members` (sorted, this rank among them) all map. Collective over
  /// the members only: each calls with the same bytes, in the same order among equal member sets. Lives as
  /// long as the session. Throws TimeoutError naming members that did not come.
  virtual std::span<std::byte> share(const std::vector<Rank>& members, std::size_t bytes,
                                     double timeout_s) = 0;

  /// A rank that has died, if any (one poll call; a finished process counts as dead).
  virtual std::optional<Rank> dead_rank() = 0;
  /// All of them.
  virtual std::vector<Rank> dead_ranks() = 0;
};

}  // namespace hemiola
