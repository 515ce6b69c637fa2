// Where the ranks of a job on several hosts say over what they give up, for others to read once they find them gone.
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
  /// Ranks that are gone, without what they gave up for.
  using Gone = std::function<std::vector<LostRank>()>;
  using Now_ns = std::function<std::int64_t()>;

  /// `courier` outlives it.
  CauseDesk(Courier* courier, Gone gone, Now_ns now_ns);

  /// As Session::publish_cause.
  void publish(const std::optional<Cause>& cause);
  /// As Session::lost.
  std::vector<LostRank> lost() const;

 private:
  /// What a rank has said last; nothing where it has taken that back.
  struct Word {
    std::uint64_t number = 0;
    std::optional<Cause> cause;
  };

  void hear(Rank from, std::span<const std::byte> message);

  Courier* courier_;
  Gone gone_;
  Now_ns now_ns_;

  mutable std::mutex mutex_;  ///< guards what follows
  std::uint64_t published_ = 0;
  std::map<Rank, Word> words_;
  mutable std::map<Rank, std::int64_t> noticed_ns_;

  std::unique_ptr<Courier::Subscription> subscription_;
};

}  // namespace hemiola
