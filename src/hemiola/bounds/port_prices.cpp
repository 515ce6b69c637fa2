// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/port_prices.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "hemiola/base/index.hpp"

namespace hemiola::bounds {
namespace {

using Vector = std::vector<double>;

constexpr std::size_t kMostKinds = 12;
constexpr double kNearPrice = 1e-10;
constexpr int kMostSteps = 20'000;

/// Participants with ports of one rate, which are alike, so that prices may be, too.
struct Kind {
  double seconds;  ///< per byte
  double count;
};

/// The slowest first. Where there are too many, some in a row count as the fastest of these.
std::vector<Kind> kinds_of(std::vector<double> rate_Bps) {
  std::sort(rate_Bps.begin(), rate_Bps.end());
  std::vector<Kind> kinds;
  for (const double rate : rate_Bps) {
    if (kinds.empty() || 1 / rate < kinds.back().seconds * (1 - 1e-12)) kinds.push_back({1 / rate, 0});
    kinds.back().count += 1;
  }
  const std::size_t in_a_row = (kinds.size() + kMostKinds - 1) / kMostKinds;
  std::vector<Kind> kept;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (k % in_a_row == 0) kept.push_back({kinds[k].seconds, 0});
    kept.back().seconds = kinds[k].seconds;
    kept.back().count += kinds[k].count;
  }
  return kept;
}

/// The cheapest tree over all participants, kind by kind, for shares of a price of 1 in all.
class CheapestTree {
 public:
  explicit CheapestTree(const std::vector<Kind>& kinds) : kinds_(kinds), part_(kinds.size()) {}

  /// Its cost, and the additional cost of more of a kind's share.
  double cost(const Vector& share, Vector* slope) {
    const int count = static_cast<int>(kinds_.size());
    std::vector<std::tuple<double, int, int>> sends;
    for (int a = 0; a < count; ++a)
      for (int b = a; b < count; ++b)
        sends.emplace_back(kinds_[at(a)].seconds * (price(share, a) + price(share, b)), a, b);
    std::sort(sends.begin(), sends.end());
    std::iota(part_.begin(), part_.end(), 0);
    std::vector<bool> is_loose(kinds_.size(), true);
    std::fill(slope->begin(), slope->end(), 0.0);
    double sum = 0;
    for (const auto& [each, a, b] : sends) {
      const double joined = pieces(a, b, is_loose) - 1;
      is_loose[at(a)] = is_loose[at(b)] = false;
      part_[at(part_with(a))] = part_with(b);
      sum += joined * each;
      for (const int kind : {a, b})
        (*slope)[at(kind)] += joined * kinds_[at(a)].seconds / kinds_[at(kind)].count;
    }
    return sum;
  }

 private:
  double price(const Vector& share, int kind) const { return share[at(kind)] / kinds_[at(kind)].count; }

  int part_with(int kind) {
    while (part_[at(kind)] != kind) kind = part_[at(kind)];
    return kind;
  }

  /// Participants of both kinds, those that are joined already counted once.
  double pieces(int a, int b, const std::vector<bool>& is_loose) {
    const auto of = [&](int kind) { return is_loose[at(kind)] ? kinds_[at(kind)].count : 1.0; };
    return part_with(a) == part_with(b) ? of(a) : of(a) + of(b);
  }

  const std::vector<Kind>& kinds_;
  std::vector<int> part_;
};

/// The best shares, by the ellipsoid method: they lie in an ellipsoid, of which half is cut off with each
/// slope seen. The last kind has the rest; with two kinds a meaningless coordinate is there, too.
class BestShares {
 public:
  explicit BestShares(const std::vector<Kind>& kinds)
      : tree_(kinds),
        kind_count_(kinds.size()),
        size_(std::max<std::size_t>(2, kinds.size() - 1)),
        center_(size_, 1.0 / static_cast<double>(kinds.size())),
        shape_(size_, Vector(size_)) {
    for (std::size_t i = 0; i < size_; ++i) shape_[i][i] = 2;  // all shares are as near to each other
  }

  double cost() {
    for (int step = 0; step < kMostSteps; ++step) {
      const Vector slope = slope_at_center();
      const double reach = cut(slope);
      if (is_possible_ && reach <= kNearPrice * best_) break;
    }
    return best_;
  }

 private:
  /// Towards better shares; towards possible ones where these are not.
  Vector slope_at_center() {
    Vector share(center_.begin(), center_.begin() + static_cast<std::ptrdiff_t>(kind_count_ - 1));
    share.push_back(1 - std::accumulate(share.begin(), share.end(), 0.0));
    Vector slope(kind_count_);
    const auto least = std::min_element(share.begin(), share.end());
    is_possible_ = *least >= 0;
    if (is_possible_)
      best_ = std::max(best_, tree_.cost(share, &slope));
    else
      slope[static_cast<std::size_t>(least - share.begin())] = 1;
    Vector towards(size_);
    for (std::size_t i = 0; i + 1 < kind_count_; ++i) towards[i] = slope[i] - slope.back();
    return towards;
  }

  /// Keeps the half towards the slope; returns how much further up the best can be.
  double cut(const Vector& slope) {
    Vector on_ball(size_), along(size_);
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j < size_; ++j) on_ball[j] += shape_[i][j] * slope[i];
    const double reach = std::sqrt(std::inner_product(on_ball.begin(), on_ball.end(), on_ball.begin(), 0.0));
    if (reach == 0) return 0;
    for (double& x : on_ball) x /= reach;
    for (std::size_t i = 0; i < size_; ++i)
      along[i] = std::inner_product(on_ball.begin(), on_ball.end(), shape_[i].begin(), 0.0);
    const double n = static_cast<double>(size_), wider = n / std::sqrt(n * n - 1);
    const double flatter = 1 - std::sqrt((n - 1) / (n + 1));
    for (std::size_t i = 0; i < size_; ++i) {
      center_[i] += along[i] / (n + 1);
      for (std::size_t j = 0; j < size_; ++j)
        shape_[i][j] = wider * (shape_[i][j] - flatter * along[i] * on_ball[j]);
    }
    return reach;
  }

  CheapestTree tree_;
  std::size_t kind_count_, size_;
  Vector center_;
  std::vector<Vector> shape_;  ///< makes a ball of radius 1 the ellipsoid
  bool is_possible_ = false;
  double best_ = 0;
};

}  // namespace

double least_seconds_by_prices(const std::vector<double>& rate_Bps) {
  const std::vector<Kind> kinds = kinds_of(rate_Bps);
  if (kinds.size() > 1) return BestShares(kinds).cost();
  Vector slope(1);
  return CheapestTree(kinds).cost({1.0}, &slope);
}

}  // namespace hemiola::bounds
