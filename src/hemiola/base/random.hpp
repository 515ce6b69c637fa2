// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers that are the same on every platform (SplitMix64; std distributions are not).
#pragma once

#include <cstdint>

namespace hemiola {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound), by multiplication (bias below 2^-32 for bounds below 2^32).
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace hemiola
