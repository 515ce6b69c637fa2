// Some of a session's ranks that do something together: those of a communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

struct Members {
  std::shared_ptr<Session> session;
  std::vector<Rank> ranks;  ///< by their numbers in the session, sorted; the index is their number here
  Rank self{0};             ///< this rank's number here

  int count() const { return static_cast<int>(ranks.size()); }
  std::int64_t now_ns() const { return session->clock().now_ns; }

  Rank world_rank(Rank rank) const { return ranks[static_cast<std::size_t>(rank)]; }
  /// How messages call a rank: by its number in the session, which every log and launcher uses, and by the one here where
  /// it is another: "rank 5 (2 in this group)".
  std::string name(Rank rank) const {
    const std::string world = "rank " + std::to_string(world_rank(rank));
    return world_rank(rank) == rank ? world : world + " (" + std::to_string(rank) + " in this group)";
  }
  LostMemberError lost(Rank rank, const std::string& text) const { return {text, rank, world_rank(rank)}; }
};

}  // namespace hemiola
