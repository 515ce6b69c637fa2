// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/local/local_figures.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/base/rounding.hpp"

namespace hemiola {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

/// Followed by a share per rank. Plain memory: the roll orders writers and readers.
struct LocalFigures::Row {
  std::uint64_t count;  ///< number + 1 of the operation that it is about
};

namespace {

std::size_t row_bytes(int rank_count) {
  return kLine + rounded_up(static_cast<std::size_t>(rank_count) * sizeof(float), kLine);
}

}  // namespace

std::size_t LocalFigures::region_bytes(int rank_count) {
  return 2 * static_cast<std::size_t>(rank_count) * row_bytes(rank_count);
}

LocalFigures::LocalFigures(std::span<std::byte> region, Rank self, int rank_count)
    : region_(region.data()), self_(self), rank_count_(rank_count) {
  HEMIOLA_CHECK(region.size() >= region_bytes(rank_count), "the figures' region is too small");
}

LocalFigures::Row& LocalFigures::row(Rank rank, std::uint64_t number) const {
  const std::size_t index = 2 * static_cast<std::size_t>(rank) + number % 2;
  return *reinterpret_cast<Row*>(region_ + index * row_bytes(rank_count_));
}

std::span<float> LocalFigures::shares(Rank rank, std::uint64_t number) const {
  auto* const begin = reinterpret_cast<std::byte*>(&row(rank, number)) + kLine;
  return {reinterpret_cast<float*>(begin), static_cast<std::size_t>(rank_count_)};
}

void LocalFigures::show(std::uint64_t number, std::span<const float> found) {
  HEMIOLA_CHECK(found.size() <= static_cast<std::size_t>(rank_count_), "a row has room for a share per rank");
  std::copy(found.begin(), found.end(), shares(self_, number).begin());
  row(self_, number).count = number + 1;
}

bool LocalFigures::read(std::uint64_t number, std::span<double> best_share, const Check&) const {
  std::fill(best_share.begin(), best_share.end(), 0.0);
  for (Rank rank : indices<Rank>(rank_count_)) {
    if (row(rank, number).count != number + 1) continue;
    const std::span<const float> seen = shares(rank, number);
    for (std::size_t of = 0; of < seen.size(); ++of)
      best_share[of] = std::max(best_share[of], static_cast<double>(seen[of]));
  }
  return std::ranges::any_of(best_share, [](double share) { return share > 0; });
}

}  // namespace hemiola
