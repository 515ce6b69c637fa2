// SPDX-License-Identifier: Apache-2.0
// Some of a session's ranks that do something together: those of a communicator, numbered in an order of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

/// Memory that all members have in common, which is handed out piece by piece: in the same order on all of them, so that
/// they wait for each other once and not for each piece.
class Ground {
 public:
  explicit Ground(std::shared_ptr<SharedRegion> region) : region_(std::move(region)) {}

  /// Zero-filled, from the start of a page on; nothing where there is no more room.
  std::shared_ptr<SharedRegion> next(std::size_t bytes);
  /// The bytes of a piece.
  static std::size_t bytes_of_piece(std::size_t bytes);

 private:
  std::shared_ptr<SharedRegion> region_;
  std::size_t used_ = 0;
};

struct Members {
  std::shared_ptr<Session> session;
  std::vector<Rank>
      ranks;     ///< by their numbers in the session, the same on all of them; the index is their number here
  Rank self{0};  ///< this rank's number here
  std::shared_ptr<Ground> ground = {};  ///< of the first pieces of `shared`; null: none has been laid

  int count() const { return static_cast<int>(ranks.size()); }
  std::int64_t now_ns() const { return session->clock().now_ns; }

  Rank world_rank(Rank rank) const { return ranks[static_cast<std::size_t>(rank)]; }
  /// The number here of a rank of the session; nothing where it is no member.
  std::optional<Rank> number_of(Rank world_rank) const;
  /// How messages call a rank: by its number in the session, which every log and launcher uses, and by the one here where
  /// it is another: "rank 5 (2 in this group)".
  std::string name(Rank rank) const {
    const std::string world = "rank " + std::to_string(world_rank(rank));
    return world_rank(rank) == rank ? world : world + " (" + std::to_string(rank) + " in this group)";
  }
  /// As `name`, of the rank that a cause blames, with its fault.
  std::string described(const Cause& cause) const {
    const std::optional<Rank> number = number_of(cause.rank);
    return number ? name(*number) + " " + cause.reason : cause.text();
  }
  /// The cause that a rank of these is lost, and when that was noticed: now.
  Cause cause(Rank rank, const std::string& reason) const { return {world_rank(rank), reason, now_ns()}; }
  /// The same error for users: with the sender's name, and as the cause that the others are told.
  BadMessageError named(const BadMessageError& error) const {
    if (error.cause.rank != Cause::kNobody) return error;
    const Cause of = cause(error.sender, "has sent what no rank sends: " + error.what_came);
    return {described(of), error.sender, of};
  }
  /// Throws the error that a cause means: TimeoutError for one that did not come, else LostRankError.
  [[noreturn]] void throw_for(const Cause& cause, const std::string& text) const {
    hemiola::throw_for(cause, number_of(cause.rank).value_or(Cause::kNobody), text);
  }

  /// As of Session, which knows no order: everybody's bytes in the order here, and errors name ranks by the number
  /// here.
  std::vector<Bytes> exchange(std::string_view key, std::span<const std::byte> own,
                              const Deadline& deadline) const;
  std::shared_ptr<SharedRegion> shared(std::size_t bytes, const Deadline& deadline) const;
};

}  // namespace hemiola
