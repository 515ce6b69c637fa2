// SPDX-License-Identifier: Apache-2.0
// The arrival of each rank at the latest operations of a communicator, and the kinds of these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/control/arrival.hpp"
#include "hemiola/runtime/control/signature.hpp"

namespace hemiola {

/// The kind of an operation, as far as its cost depends on it.
struct OperationSize {
  OperationKind kind;
  std::int64_t bytes;  ///< of one rank's array, as its signature has it
};

/// The last rank at an operation, and its lag behind all others.
struct LastArrival {
  Rank rank{0};
  std::int64_t lag_ns = 0;
};

/// Keeps the last operations in a ring, so that noting one costs a few stores.
class ArrivalLog {
 public:
  static constexpr std::size_t kOperations = kKeptArrivals;

  explicit ArrivalLog(int rank_count)
      : rank_count_(static_cast<std::size_t>(rank_count)),
        arrivals_(rank_count_ * kOperations),
        sizes_(kOperations) {}

  /// Where the next operation's arrivals go, one per rank; they count once `commit` is called.
  std::span<Arrival> next_row() {
    return std::span(arrivals_).subspan(count_ % kOperations * rank_count_, rank_count_);
  }
  void commit(const OperationSize& size) { sizes_[count_++ % kOperations] = size; }

  void clear() { count_ = 0; }

  /// The last rank at the latest operation; of several at once the first. There must be an operation, and two ranks.
  LastArrival latest_last() const {
    std::int64_t last = std::numeric_limits<std::int64_t>::min(), before = last;
    std::size_t rank = 0;
    const auto row = row_at((count_ - 1) % kOperations);
    for (std::size_t i = 0; i < row.size(); ++i) {
      before = std::max(before, std::min(last, row[i].at_ns));
      if (row[i].at_ns > last) rank = i;
      last = std::max(last, row[i].at_ns);
    }
    return {Rank{rank}, last - before};
  }

  /// The arrivals that are held, oldest operation first, a row of rank_count each.
  std::vector<Arrival> rows() const {
    std::vector<Arrival> held;
    for (std::size_t i = first(); i < count_; ++i) {
      const auto row = row_at(i % kOperations);
      held.insert(held.end(), row.begin(), row.end());
    }
    return held;
  }
  /// The kinds of the rows' operations.
  std::vector<OperationSize> sizes() const {
    std::vector<OperationSize> held;
    for (std::size_t i = first(); i < count_; ++i) held.push_back(sizes_[i % kOperations]);
    return held;
  }

 private:
  std::size_t first() const { return count_ < kOperations ? 0 : count_ - kOperations; }
  std::span<const Arrival> row_at(std::size_t index) const {
    return std::span(arrivals_).subspan(index * rank_count_, rank_count_);
  }

  std::size_t rank_count_;
  std::size_t count_ = 0;
  std::vector<Arrival> arrivals_;
  std::vector<OperationSize> sizes_;
};

}  // namespace hemiola
