// SPDX-License-Identifier: Apache-2.0
// The ranks of a job on several hosts say here why they give up. Others read it once they find them gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hemiola/runtime/session/courier.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

class CauseDesk {
 public:
  /// Ranks that are gone, without their reasons.
  using Gone = std::function<std::vector<LostRank>()>;

  /// `courier` outlives it.
  CauseDesk(Courier* courier, Gone gone);

  /// As Session::publish_cause.
  void publish(const std::optional<Cause>& cause);
  /// As Session::lost.
  std::vector<LostRank> lost() const;

 private:
  /// The latest reason of a rank; nothing if it has taken that back.
  struct Word {
    std::uint64_t number = 0;
    std::optional<Cause> cause;
  };

  void hear(Rank from, std::span<const std::byte> message);

  Courier* courier_;
  Gone gone_;

  mutable std::mutex mutex_;  ///< guards the members below
  std::uint64_t published_ = 0;
  std::map<Rank, Word> words_;

  std::unique_ptr<Courier::Subscription> subscription_;
};

}  // namespace hemiola
