// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/index/ownership.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

struct Fraction {
  std::int64_t above;
  std::int64_t below;
};

/// The simplest fraction within 1e-12 of `value`, by continued fractions.
Fraction simplest_fraction(double value) {
  std::int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  double rest = value;
  for (int i = 0; i < 40; ++i) {
    const double whole = std::floor(rest);
    const auto a = static_cast<std::int64_t>(whole);
    if (whole > 1e9 || q1 * a > (std::int64_t{1} << 30)) break;
    p0 = std::exchange(p1, a * p1 + p0);
    q0 = std::exchange(q1, a * q1 + q0);
    if (std::abs(static_cast<double>(p1) / static_cast<double>(q1) - value) < 1e-12 * value) break;
    rest = 1 / (rest - whole);
  }
  return {p1, q1};
}

}  // namespace

std::vector<std::int64_t> ownership_weights(const std::vector<double>& factors) {
  // Factors are relative: where every rank is slow, the fastest of them sets the pace.
  const double fastest = *std::min_element(factors.begin(), factors.end());
  std::vector<double> slowdown(factors);
  for (double& l : slowdown) l /= fastest;
  constexpr std::int64_t kScale = std::int64_t{1} << 40;
  // A factor l = a/b spares (2 - l)/l = (2b - a)/a of a healthy port's load; common denominator: lcm of the
  // a.
  std::int64_t common = 1;
  for (double l : slowdown) {
    if (l >= 2) continue;
    common = std::lcm(common, simplest_fraction(l).above);
    if (common > kScale) {
      common = kScale;
      break;
    }
  }
  std::vector<std::int64_t> weight;
  for (double l : slowdown) {
    const Fraction f = simplest_fraction(std::min(l, 2.0));
    const auto spared = static_cast<__int128>(2 * f.below - f.above) * common;
    weight.push_back(static_cast<std::int64_t>((spared + f.above / 2) / f.above));
  }
  return weight;
}

namespace {

/// Per participant, how many healthy ports' worth its port has to spare.
std::vector<double> spare_of(const std::vector<double>& factors) {
  const double fastest = *std::min_element(factors.begin(), factors.end());
  std::vector<double> spare;
  for (const double factor : factors) spare.push_back(std::max(0.0, 2 * fastest / factor - 1));
  return spare;
}

}  // namespace

ExchangeLoad exchange_load(const std::vector<double>& factors) {
  const std::vector<double> spare = spare_of(factors);
  const double total = spare_ports(factors), others = static_cast<double>(factors.size()) - 2;
  ExchangeLoad load{0, 0};
  for (std::size_t i = 0; i < factors.size(); ++i) {
    load.time = std::max(load.time, factors[i] * (1 + others * spare[i] / total));
    load.owners += spare[i] > 0;
  }
  return load;
}

double spare_ports(const std::vector<double>& factors) {
  const std::vector<double> spare = spare_of(factors);
  return std::accumulate(spare.begin(), spare.end(), 0.0);
}

std::vector<double> factors_of(const std::string& what, const std::map<int, double>& slow, int count) {
  std::vector<double> factors(static_cast<std::size_t>(std::max(count, 0)), 1.0);
  for (const auto& [index, factor] : slow) {
    if (index < 0 || index >= count)
      throw ArgumentError(what + " names " + std::to_string(index) + ", expected 0 … " +
                          std::to_string(count - 1));
    factors[static_cast<std::size_t>(index)] = factor;
  }
  return factors;
}

Sections::Sections(const std::vector<std::int64_t>& weight_of_rank) : place_(weight_of_rank.size(), -1) {
  for (std::size_t rank = 0; rank < weight_of_rank.size(); ++rank) {
    if (weight_of_rank[rank] == 0) continue;
    place_[rank] = count();
    owners.push_back(Rank{rank});
    weight.push_back(weight_of_rank[rank]);
  }
}

void check_slowdown(const std::string& algorithm, int count, const std::vector<double>& factors,
                    int segments) {
  const std::string where = algorithm + ": ";
  if (count < 2)
    throw ArgumentError(where + "expected at least 2 participants, found " + std::to_string(count));
  if (factors.size() != static_cast<std::size_t>(count))
    throw ArgumentError(where + "expected one slowdown per participant (" + std::to_string(count) +
                        "), found " + std::to_string(factors.size()));
  for (double factor : factors)
    if (!std::isfinite(factor) || factor < 1)
      throw ArgumentError(where + "expected finite slowdowns >= 1, found " + std::to_string(factor));
  if (segments < 1 || segments > (1 << 20))
    throw ArgumentError(where + "expected segments in 1 … 2^20, found " + std::to_string(segments));
}

}  // namespace hemiola::algorithms
