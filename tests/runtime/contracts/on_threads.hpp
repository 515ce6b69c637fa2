// SPDX-License-Identifier: Apache-2.0
// A thread per rank.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola::testing {

/// A rank that ends with an exception fails the test with it.
inline void on_threads(int rank_count, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(rank_count))
    threads.emplace_back([&body, rank] {
      try {
        body(rank);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << rank << ": " << e.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

inline std::vector<Rank> all_ranks(int rank_count) {
  std::vector<Rank> ranks;
  for (Rank rank : indices<Rank>(rank_count)) ranks.push_back(rank);
  return ranks;
}

}  // namespace hemiola::testing
