// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/assignment.hpp"

#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace hemiola {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kNobody = -1;

/// Rows are assigned one by one. `row_price_` and `column_price_` never exceed a pair's cost together, and equal it for
/// pairs that are assigned: so each assignment of the rows so far is a cheapest one.
class Assigner {
 public:
  Assigner(std::span<const double> cost, int n)
      : cost_(cost),
        n_(n),
        row_price_(size(n), 0.0),
        column_price_(size(n), 0.0),
        column_of_(size(n), kNobody),
        row_of_(size(n), kNobody) {}

  bool assign(int row) {
    begin_search();
    const int sink = find_free_column(row);
    if (sink == kNobody) return false;
    raise_prices(row);
    for (int column = sink, from = kNobody; from != row;) {
      from = reached_from_[size(column)];
      row_of_[size(column)] = from;
      std::swap(column, column_of_[size(from)]);
    }
    return true;
  }

  std::vector<int> columns() && { return std::move(column_of_); }

 private:
  static std::size_t size(int index) { return static_cast<std::size_t>(index); }

  void begin_search() {
    left_.resize(size(n_));
    std::iota(left_.rbegin(), left_.rend(),
              0);  // the last is the first column, which equal costs then prefer
    distance_.assign(size(n_), kNever);
    reached_from_.assign(size(n_), kNobody);
    rows_seen_.clear();
    columns_seen_.clear();
  }

  /// Dijkstra's search from a row; returns the nearest column that is free, or kNobody.
  int find_free_column(int row) {
    nearest_ = 0.0;
    for (;;) {
      rows_seen_.push_back(row);
      const double* costs = cost_.data() + size(row) * size(n_);
      double lowest = kNever;
      std::size_t at = left_.size();
      for (std::size_t place = 0; place < left_.size(); ++place) {
        const std::size_t column = size(left_[place]);
        const double through = nearest_ + costs[column] - row_price_[size(row)] - column_price_[column];
        if (through < distance_[column]) {
          distance_[column] = through;
          reached_from_[column] = row;
        }
        // Of equally near columns a free one ends the search.
        if (distance_[column] < lowest || (distance_[column] == lowest && row_of_[column] == kNobody)) {
          lowest = distance_[column];
          at = place;
        }
      }
      if (lowest == kNever) return kNobody;
      nearest_ = lowest;
      const int column = left_[at];
      left_[at] = left_.back();
      left_.pop_back();
      if (row_of_[size(column)] == kNobody) return column;
      columns_seen_.push_back(column);
      row = row_of_[size(column)];
    }
  }

  void raise_prices(int first) {
    for (const int row : rows_seen_)
      row_price_[size(row)] += row == first ? nearest_ : nearest_ - distance_[size(column_of_[size(row)])];
    for (const int column : columns_seen_) column_price_[size(column)] -= nearest_ - distance_[size(column)];
  }

  std::span<const double> cost_;
  int n_;
  std::vector<double> row_price_, column_price_;
  std::vector<int> column_of_, row_of_;
  // Of the current search.
  std::vector<int> left_, reached_from_, rows_seen_, columns_seen_;
  std::vector<double> distance_;
  double nearest_{0.0};
};

}  // namespace

std::optional<std::vector<int>> assignment(std::span<const double> cost, int n) {
  Assigner assigner(cost, n);
  for (int row = 0; row < n; ++row)
    if (!assigner.assign(row)) return std::nullopt;
  return std::move(assigner).columns();
}

}  // namespace hemiola
