// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/slow/segments.hpp"

#include <algorithm>
#include <set>
namespace hemiola::algorithms {
namespace {

/// An exchange under the conditions of a task.
class SegmentedTime {
 public:
  SegmentedTime(const Task& task, const SegmentedExchange& exchange)
      : exchange_(exchange), latency_s_(task.port.latency_s), delay_s_(task.delay_s()) {
    const std::vector<double> factors = task.factors();
    const auto [fastest, slowest] = std::minmax_element(factors.begin(), factors.end());
    serial_s_ = task.serial_s() * *fastest / *slowest;
  }

  double seconds(int segments) const { return seconds(segments, exchange_.rounds); }

  /// Where so many rounds in a body wait for a latency.
  double seconds(int segments, int rounds) const {
    return delay_s_ + (segments + 1) * (rounds * latency_s_ + exchange_.load * serial_s_ / segments);
  }

  std::vector<int> measurable() const {
    std::vector<int> found;
    for (const int segments : kSegmentCounts)
      if (exchange_.message * serial_s_ >= segments * latency_s_) found.push_back(segments);
    return found;
  }

 private:
  SegmentedExchange exchange_;
  double latency_s_;
  double delay_s_;
  double serial_s_;
};

}  // namespace

std::vector<SegmentChoice> best_segments(const Task& task, const SegmentedExchange& exchange,
                                         std::int64_t most_segments) {
  const SegmentedTime time(task, exchange);
  std::set<int> best{*std::ranges::min_element(kSegmentCounts, {}, [&](int k) { return time.seconds(k); })};
  std::vector<int> measurable = time.measurable();
  std::erase_if(measurable, [&](int k) { return k > most_segments; });
  if (!measurable.empty())
    best.insert(*std::ranges::min_element(measurable, {}, [&](int k) { return time.seconds(k, 1); }));
  std::vector<SegmentChoice> found;
  for (int segments : best) found.push_back({segments, time.seconds(segments), time.seconds(segments, 1)});
  return found;
}

std::optional<SegmentChoice> best_measurable_segments(const Task& task, const SegmentedExchange& exchange) {
  const SegmentedTime time(task, exchange);
  const std::vector<int> measurable = time.measurable();
  if (measurable.empty()) return std::nullopt;
  const int best = *std::ranges::min_element(measurable, {}, [&](int k) { return time.seconds(k); });
  return SegmentChoice{best, time.seconds(best), time.seconds(best, 1)};
}

bool has_slow_ranks(const Task& task) {
  const std::vector<double> factors = task.factors();
  const auto [fastest, slowest] = std::minmax_element(factors.begin(), factors.end());
  return task.rank_count >= 2 && *fastest < *slowest;
}

}  // namespace hemiola::algorithms
