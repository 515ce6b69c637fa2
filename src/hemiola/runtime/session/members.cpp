// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/members.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/rounding.hpp"

namespace hemiola {
namespace {

/// The members' numbers here, by their numbers in the session.
std::vector<Rank> by_session(const Members& members) {
  std::vector<Rank> order;
  for (Rank rank : indices<Rank>(members.count())) order.push_back(rank);
  std::ranges::sort(order, {}, [&](Rank rank) { return members.world_rank(rank); });
  return order;
}

std::vector<Rank> sorted_ranks(const Members& members) {
  std::vector<Rank> ranks = members.ranks;
  std::ranges::sort(ranks);
  return ranks;
}

/// Asks the session, and has its errors name ranks by their numbers here.
template <typename Ask>
auto ask_for(const Members& members, Ask ask) {
  try {
    return ask();
  } catch (const LostMemberError& e) {
    throw LostMemberError(e.what(), members.number_of(e.cause.rank).value_or(Cause::kNobody), e.cause);
  }
}

constexpr std::size_t kPage = 4096;

/// Keeps the whole.
class Piece final : public SharedRegion {
 public:
  Piece(std::shared_ptr<SharedRegion> whole, std::size_t from, std::size_t bytes)
      : SharedRegion(whole->bytes().subspan(from, bytes)), whole_(std::move(whole)) {}

 private:
  std::shared_ptr<SharedRegion> whole_;
};

}  // namespace

std::size_t Ground::bytes_of_piece(std::size_t bytes) {
  return rounded_up(bytes, kPage);
}

std::shared_ptr<SharedRegion> Ground::next(std::size_t bytes) {
  const std::size_t taken = bytes_of_piece(bytes);
  if (taken > region_->bytes().size() - used_) return nullptr;
  used_ += taken;
  return std::make_shared<Piece>(region_, used_ - taken, bytes);
}

std::optional<Rank> Members::number_of(Rank world_rank) const {
  const auto at = std::ranges::find(ranks, world_rank);
  if (at == ranks.end()) return std::nullopt;
  return Rank{at - ranks.begin()};
}

std::vector<Bytes> Members::exchange(std::string_view key, std::span<const std::byte> own,
                                     const Deadline& deadline) const {
  std::vector<Bytes> told =
      ask_for(*this, [&] { return session->exchange(sorted_ranks(*this), key, own, deadline); });
  std::vector<Bytes> all(told.size());
  auto next = told.begin();
  for (Rank rank : by_session(*this)) all[static_cast<std::size_t>(rank)] = std::move(*next++);
  return all;
}

std::shared_ptr<SharedRegion> Members::shared(std::size_t bytes, const Deadline& deadline) const {
  if (ground)
    if (auto piece = ground->next(bytes)) return piece;
  return ask_for(*this, [&] { return session->shared(sorted_ranks(*this), bytes, deadline); });
}

}  // namespace hemiola
