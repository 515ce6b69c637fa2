// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/length_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "hemiola/base/progress.hpp"

namespace hemiola::bounds {
namespace {

constexpr double kNearLength = 0.995;  // of the cost of some paths: near enough
constexpr double kPace = 0.5;          // found by trying, as is the next
constexpr int kRoundsPerMean = 8;

void add_share(const std::vector<double>& weight, std::vector<double>* mean) {
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  for (std::size_t e = 0; e < weight.size(); ++e) (*mean)[e] += weight[e] / sum;
}

}  // namespace

LengthSearch::LengthSearch(std::vector<double> Bps)
    : Bps_(std::move(Bps)), length_(Bps_.size()), carried_(Bps_.size()) {}

/// Weight: bandwidth times length.
void LengthSearch::prove(const std::vector<double>& weight) {
  constexpr double least = 1e-30;  // no way is free, so that ways stay short where many are
  double capacity = 0;
  for (std::size_t e = 0; e < Bps_.size(); ++e) {
    length_[e] = std::max(weight[e], least) / Bps_[e];
    capacity += length_[e] * Bps_[e];
  }
  std::fill(carried_.begin(), carried_.end(), 0.0);
  const double travelled = send(length_, &carried_);
  best_s_ = std::max(best_s_, travelled / capacity);
}

double LengthSearch::most_seconds(int rounds, double known_s) {
  std::vector<double> weight(Bps_.size(), 1.0), all_s(Bps_.size()), mean(Bps_.size());
  const double log_edges = std::log(static_cast<double>(Bps_.size()) + 1);
  double taken_s = std::numeric_limits<double>::infinity();
  Parts parts(rounds);
  for (int round = 1; round <= rounds; ++round) {
    parts.next();
    prove(weight);
    for (std::size_t e = 0; e < Bps_.size(); ++e) all_s[e] += carried_[e] / Bps_[e];
    const double longest_s = *std::max_element(all_s.begin(), all_s.end());
    // The paths taken so far, in equal shares, carry all as well: no bound is above their cost.
    taken_s = std::min(taken_s, longest_s / round);
    if (std::max(best_s_, known_s) >= taken_s * kNearLength) break;
    const double rate = kPace * std::sqrt(log_edges / round) / taken_s;
    for (std::size_t e = 0; e < Bps_.size(); ++e) weight[e] = std::exp(rate * (all_s[e] - longest_s));
    add_share(weight, &mean);
    if (round % kRoundsPerMean == 0) prove(mean);
    if ((round & (round - 1)) == 0) std::fill(mean.begin(), mean.end(), 0.0);  // early ones are forgotten
  }
  return best_s_;
}

}  // namespace hemiola::bounds
