// When each rank came to the latest operations of a communicator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hemiola {

/// Keeps the last operations in a ring, so that noting one costs a few stores.
class ArrivalLog {
 public:
  static constexpr std::size_t kOperations = 512;

  explicit ArrivalLog(int rank_count)
      : rank_count_(static_cast<std::size_t>(rank_count)), times_ns_(rank_count_ * kOperations) {}

  /// Where the next operation's times go, one per rank; they count once `commit` is called.
  std::span<std::int64_t> next_row() { return row(count_ % kOperations); }
  void commit() { ++count_; }

  /// How long after the last but one the last rank came to the latest operation, of which there must be one, and of
  /// ranks two.
  std::int64_t latest_lag_ns() {
    std::int64_t last = std::numeric_limits<std::int64_t>::min(), before = last;
    for (std::int64_t time : row((count_ - 1) % kOperations)) {
      before = std::max(before, std::min(last, time));
      last = std::max(last, time);
    }
    return last - before;
  }

  /// The times that are held, oldest operation first, a row of rank_count each.
  std::vector<std::int64_t> rows() {
    std::vector<std::int64_t> held;
    const std::size_t first = count_ < kOperations ? 0 : count_ - kOperations;
    for (std::size_t i = first; i < count_; ++i) {
      const auto times = row(i % kOperations);
      held.insert(held.end(), times.begin(), times.end());
    }
    return held;
  }

 private:
  std::span<std::int64_t> row(std::size_t index) {
    return std::span(times_ns_).subspan(index * rank_count_, rank_count_);
  }

  std::size_t rank_count_;
  std::size_t count_ = 0;
  std::vector<std::int64_t> times_ns_;
};

}  // namespace hemiola
