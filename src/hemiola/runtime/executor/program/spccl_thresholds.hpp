// What [SpCCL, §4.3] lets a message depend on: for Pici, and swept by its authors for float32. Kept to compare with; what
// runs otherwise needs none.
#pragma once

#include <cstddef>

namespace hemiola::spccl {

/// Where at most so many elements of a sum are zero, as far as is known, a hop goes dense: between nodes, inside one. Of
/// elements of 4 bytes.
inline constexpr double kInter = 0.5, kIntra = 0.6;
/// And what is only copied.
inline constexpr double kGather = 0.1;

/// The same threshold for elements of another size: with so many zeros Pici saves the same share of the plain bytes, in which
/// the paper's equations 2 to 6 have all that it saves and costs. Pici's index takes 1 + 1/128 bits of each element [SpCCL, §3].
constexpr double threshold(double of_4_bytes, std::size_t element_bytes) {
  constexpr double kIndexBytes = (1 + 1.0 / 128) / 8;
  return of_4_bytes + kIndexBytes * (1 / static_cast<double>(element_bytes) - 0.25);
}

/// Equation 7: the density of a sum of this density, when one more rank's elements are added.
constexpr double filled(double previous, double own) {
  return 1 - (1 - previous) * (1 - own);
}

}  // namespace hemiola::spccl
