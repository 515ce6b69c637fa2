// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/grid_shape.hpp"

#include <utility>

namespace hemiola::synthesis {

GridShape::GridShape(std::vector<int> sides) : sides_(std::move(sides)) {
  for (const int side : sides_) size_ *= side;
}

void GridShape::differences_from_all(int b, std::vector<int>* differences) const {
  differences->assign(1, 0);
  int stride = 1;
  for (const int side : sides_) {
    // Rows repeat the rows of the digits before, each with a further digit in front.
    differences->resize(static_cast<std::size_t>(stride) * static_cast<std::size_t>(side));
    int* const row = differences->data();
    const int offset = b % side;
    for (int digit = side - 1; digit >= 0; --digit) {
      const int front = (digit >= offset ? digit - offset : digit - offset + side) * stride;
      for (int i = 0; i < stride; ++i) row[digit * stride + i] = row[i] + front;
    }
    stride *= side;
    b /= side;
  }
}

int GridShape::combined(int a, int b, int sign) const {
  int result = 0, stride = 1;
  for (const int side : sides_) {
    const int digit = a % side + sign * (b % side) + side;
    result += digit % side * stride;
    stride *= side;
    a /= side;
    b /= side;
  }
  return result;
}

}  // namespace hemiola::synthesis
