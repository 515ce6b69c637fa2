// SPDX-License-Identifier: Apache-2.0
// Random variation of how long transfers take, the same for the same seed on every platform.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hemiola/base/random.hpp"

namespace hemiola::simulation {

class Noise {
 public:
  Noise(double deviation, std::uint64_t seed) : deviation_(deviation), seed_(seed) {}

  bool is_off() const { return deviation_ == 0; }

  /// The factor on the transfer's bytes: bell-shaped around 1, within 3 deviations. The sum of 12 uniform
  /// numbers has deviation 1 and, unlike a Gaussian's logarithm and cosine, needs no library that rounds in
  /// its own way.
  double factor(std::uint32_t transfer) const {
    Random random(Random(seed_).next() ^ (std::uint64_t{transfer} << 20));
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.uniform();
    return 1 + deviation_ * std::clamp(sum, -3.0, 3.0);
  }

 private:
  double deviation_;
  std::uint64_t seed_;
};

}  // namespace hemiola::simulation
