// SPDX-License-Identifier: Apache-2.0
#include "hemiola/codec/kernels/kernels.hpp"

#include <vector>

#include "hemiola/codec/kernels/sets.hpp"

namespace hemiola::codec {

std::span<const Kernels> all_kernels() {
  static const std::vector<Kernels> found = [] {
    std::vector<Kernels> sets{portable_kernels()};
    for (const auto& set : {neon_kernels(), avx2_kernels(), avx512f_kernels(), avx512_kernels()})
      if (set) sets.push_back(*set);
    return sets;
  }();
  return found;
}

const Kernels& best_kernels() {
  static const Kernels& best = all_kernels().back();
  return best;
}

}  // namespace hemiola::codec
