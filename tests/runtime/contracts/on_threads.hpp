// SPDX-License-Identifier: Apache-2.0
// A thread per rank.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola::testing {

inline void on_threads(int rank_count, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(rank_count)) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

inline std::vector<Rank> all_ranks(int rank_count) {
  std::vector<Rank> ranks;
  for (Rank rank : indices<Rank>(rank_count)) ranks.push_back(rank);
  return ranks;
}

}  // namespace hemiola::testing
