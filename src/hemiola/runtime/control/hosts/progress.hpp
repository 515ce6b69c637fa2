// SPDX-License-Identifier: Apache-2.0
// How many operations each rank is known to have completed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola::hosts {

class Progress {
 public:
  explicit Progress(int rank_count) : completed_(static_cast<std::size_t>(rank_count)) {}

  std::uint64_t completed(Rank rank) const { return of(rank).load(std::memory_order_acquire); }
  /// Only ever more; from one thread at a time for each rank, but for this rank's own.
  void note(Rank rank, std::uint64_t count) {
    auto& known = completed_[static_cast<std::size_t>(rank)];
    std::uint64_t before = known.load(std::memory_order_relaxed);
    while (before < count && !known.compare_exchange_weak(before, count, std::memory_order_release)) {
    }
  }

 private:
  const std::atomic<std::uint64_t>& of(Rank rank) const { return completed_[static_cast<std::size_t>(rank)]; }

  std::vector<std::atomic<std::uint64_t>> completed_;
};

}  // namespace hemiola::hosts
