#include "hemiola/runtime/health/rate_board.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

/// Followed by a share per rank. Plain memory: the arrival board orders who writes and who reads.
struct RateBoard::Row {
  std::uint64_t count;  ///< number + 1 of the operation that it is about
};

namespace {

std::size_t row_bytes(int rank_count) {
  return kLine + rounded_up(static_cast<std::size_t>(rank_count) * sizeof(float), kLine);
}

}  // namespace

std::size_t RateBoard::region_bytes(int rank_count) {
  return 2 * static_cast<std::size_t>(rank_count) * row_bytes(rank_count);
}

RateBoard::RateBoard(std::span<std::byte> region, Rank self, int rank_count)
    : region_(region.data()), self_(self), rank_count_(rank_count) {
  HEMIOLA_CHECK(region.size() >= region_bytes(rank_count), "the rate board's region is too small");
}

RateBoard::Row& RateBoard::row(Rank rank, std::uint64_t number) const {
  const std::size_t index = 2 * static_cast<std::size_t>(rank) + number % 2;
  return *reinterpret_cast<Row*>(region_ + index * row_bytes(rank_count_));
}

std::span<float> RateBoard::shares(Rank rank, std::uint64_t number) const {
  auto* const begin = reinterpret_cast<std::byte*>(&row(rank, number)) + kLine;
  return {reinterpret_cast<float*>(begin), static_cast<std::size_t>(rank_count_)};
}

void RateBoard::show(std::uint64_t number, std::span<const float> found) {
  std::copy(found.begin(), found.end(), shares(self_, number).begin());
  row(self_, number).count = number + 1;
}

bool RateBoard::read(std::uint64_t number, std::span<double> best_share) const {
  std::fill(best_share.begin(), best_share.end(), 0.0);
  bool any = false;
  for (Rank rank : indices<Rank>(rank_count_)) {
    if (row(rank, number).count != number + 1) continue;
    any = true;
    const std::span<const float> seen = shares(rank, number);
    for (std::size_t of = 0; of < seen.size(); ++of)
      best_share[of] = std::max(best_share[of], static_cast<double>(seen[of]));
  }
  return any;
}

}  // namespace hemiola
