// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/late/finish_chunks.hpp"

#include <algorithm>
#include <cmath>

#include "hemiola/algorithms/index/binary.hpp"

namespace hemiola::algorithms {

int finish_rounds(int rank_count, int chunk_count) {
  return chunk_count + doubling_rounds(rank_count) - 1;
}

namespace {

constexpr double kMost = kMostFinishChunks;

double extra_rounds(int rank_count) {
  return doubling_rounds(rank_count) - 1;
}

/// M*, at most kMost.
double balance(int rank_count, double serial_s, double latency_s) {
  return latency_s > 0 ? std::min(std::sqrt(extra_rounds(rank_count) * serial_s / latency_s), kMost) : kMost;
}

}  // namespace

int best_finish_chunks(int rank_count, std::int64_t nbytes, PortSpeed port) {
  const double early = rank_count - 1, extra = extra_rounds(rank_count);
  const double serial_s = static_cast<double>(nbytes) / port.bandwidth_Bps;
  const double best = balance(rank_count, serial_s, port.latency_s);
  const double grain = best >= early ? early : 1;
  const auto seconds = [&](double chunks) { return (chunks + extra) * (port.latency_s + serial_s / chunks); };
  const double below = std::max(std::floor(best / grain), 1.0) * grain, above = below + grain;
  return static_cast<int>(above <= kMost && seconds(above) < seconds(below) ? above : below);
}

std::set<int> good_finish_chunks(int rank_count, std::int64_t nbytes, PortSpeed port) {
  constexpr int kFarApart = 4;  // multiples up to this one are
  const double best = balance(rank_count, static_cast<double>(nbytes) / port.bandwidth_Bps, port.latency_s);
  std::set<int> good{best_finish_chunks(rank_count, nbytes, port)};
  if (best < kFarApart * (rank_count - 1)) good.insert(std::max(1, static_cast<int>(std::nearbyint(best))));
  return good;
}

}  // namespace hemiola::algorithms
