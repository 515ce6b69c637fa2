#include "hemiola/algorithms/weighted_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
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

/// Who owns a section of each segment, and how its chunks are numbered: segment-major, in rank order.
struct Sections {
  std::vector<Rank> owners;          // ranks that own something, ascending
  std::vector<int> place;            // rank → index among the owners, -1 for none
  std::vector<std::int64_t> weight;  // per owner

  explicit Sections(const std::vector<std::int64_t>& weight_of_rank) : place(weight_of_rank.size(), -1) {
    for (std::size_t rank = 0; rank < weight_of_rank.size(); ++rank) {
      if (weight_of_rank[rank] == 0) continue;
      place[rank] = static_cast<int>(owners.size());
      owners.push_back(Rank{rank});
      weight.push_back(weight_of_rank[rank]);
    }
  }
  bool owns(Rank rank) const { return place[static_cast<std::size_t>(rank)] >= 0; }
  Chunk chunk(int segment, Rank owner) const {
    return Chunk{segment * static_cast<int>(owners.size()) + place[static_cast<std::size_t>(owner)]};
  }
};

/// Repeats one segment's column for every segment.
template <typename T>
std::vector<T> per_segment(const std::vector<T>& column, int segments) {
  std::vector<T> all;
  all.reserve(column.size() * static_cast<std::size_t>(segments));
  for (int segment = 0; segment < segments; ++segment) all.insert(all.end(), column.begin(), column.end());
  return all;
}

void check(int rank_count, const std::vector<double>& slowdown, int segments) {
  const std::string where = "all_reduce_weighted_exchange: ";
  if (rank_count < 2)
    throw ArgumentError(where + "expected at least 2 ranks, found " + std::to_string(rank_count));
  if (slowdown.size() != static_cast<std::size_t>(rank_count))
    throw ArgumentError(where + "expected one slowdown per rank (" + std::to_string(rank_count) +
                        "), found " + std::to_string(slowdown.size()));
  for (double factor : slowdown)
    if (!std::isfinite(factor) || factor < 1)
      throw ArgumentError(where + "expected finite slowdowns >= 1, found " + std::to_string(factor));
  if (segments < 1 || segments > (1 << 20))
    throw ArgumentError(where + "expected segments in 1 … 2^20, found " + std::to_string(segments));
}

}  // namespace

std::vector<std::int64_t> ownership_weights(const std::vector<double>& factors) {
  // Factors are relative: where every rank is slow, the fastest of them sets the pace.
  const double fastest = *std::min_element(factors.begin(), factors.end());
  std::vector<double> slowdown(factors);
  for (double& l : slowdown) l /= fastest;
  constexpr std::int64_t kScale = std::int64_t{1} << 40;
  // A factor l = a/b spares (2 - l)/l = (2b - a)/a of what a healthy port does; common denominator: lcm of
  // the a.
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

Schedule all_reduce_weighted_exchange(int rank_count, const std::vector<double>& slowdown, int segments) {
  check(rank_count, slowdown, segments);
  const Sections sections(ownership_weights(slowdown));
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count,
                                                  per_segment(sections.owners, segments)));
  builder.set_chunk_weights(per_segment(sections.weight, segments));
  const int rounds = rank_count - 1;
  for (int body = 0; body <= segments; ++body)
    for (int round = 1; round <= rounds; ++round)
      for (Rank src : indices<Rank>(rank_count)) {
        const Step step{body * rounds + round - 1};
        const Rank dst{(src + round) % rank_count};
        if (body < segments && sections.owns(dst)) builder.reduce(step, src, dst, sections.chunk(body, dst));
        if (body > 0 && sections.owns(src)) builder.copy(step, src, dst, sections.chunk(body - 1, src));
      }
  return builder.finish();
}

}  // namespace hemiola::algorithms
