// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/slow/exchange.hpp"

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {

void check_rank(const std::string& what, Rank rank, int rank_count) {
  if (rank < 0 || rank >= rank_count)
    throw ArgumentError(what + " in 0 … " + std::to_string(rank_count - 1) + ", found " +
                        std::to_string(rank));
}

Exchange checked_exchange(const char* algorithm, int rank_count, const std::vector<double>& slowdown,
                          int segments) {
  check_slowdown(algorithm, rank_count, slowdown, segments);
  return {rank_count, segments, ownership_weights(slowdown)};
}

}  // namespace hemiola::algorithms
