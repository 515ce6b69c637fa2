// What [SpCCL, §4.3] lets a message depend on: for float32 and Pici, as its authors have swept them. Kept to compare with; what
// runs otherwise needs none.
#pragma once

namespace hemiola::spccl {

/// Where at most so many elements of a sum are zero, as far as is known, a hop goes dense: between nodes, inside one.
inline constexpr double kInter = 0.5, kIntra = 0.6;
/// And what is only copied.
inline constexpr double kGather = 0.1;

/// Equation 7: the density of a sum of this density, when one more rank's elements are added.
constexpr double filled(double previous, double own) {
  return 1 - (1 - previous) * (1 - own);
}

}  // namespace hemiola::spccl
