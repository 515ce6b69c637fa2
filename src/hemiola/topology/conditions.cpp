// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/conditions.hpp"

#include <cmath>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

void check_rank(Rank rank, int rank_count, const char* what) {
  if (rank < 0 || rank >= rank_count)
    throw ArgumentError(std::string("conditions: expected ") + what + " ranks of 0 … " +
                        std::to_string(rank_count - 1) + ", found rank " + std::to_string(rank));
}

}  // namespace

void Conditions::check(int rank_count) const {
  for (const auto& [rank, delay] : late) {
    check_rank(rank, rank_count, "late");
    if (delay < 0)
      throw ArgumentError("conditions: expected late[" + std::to_string(rank) + "] >= 0 seconds");
  }
  for (const auto& [rank, factor] : slow) {
    check_rank(rank, rank_count, "slow");
    if (!std::isfinite(factor) || factor < 1)
      throw ArgumentError("conditions: expected a finite slow[" + std::to_string(rank) + "] >= 1, found " +
                          std::to_string(factor));
  }
  if (!(density > 0 && density <= 1))
    throw ArgumentError("conditions: expected a density in (0, 1], found " + std::to_string(density));
}

}  // namespace hemiola
