// SPDX-License-Identifier: Apache-2.0
// Ranks numbered row by row in a grid whose ends meet: a group, in which ranks are added and subtracted digit by digit.
#pragma once

#include <vector>

namespace hemiola::synthesis {

class GridShape {
 public:
  /// `sides`: the last one of the grid first.
  explicit GridShape(std::vector<int> sides);

  int size() const { return size_; }
  /// Of larger numbers only the remainder by `size` counts: their last digits.
  int sum(int a, int b) const { return combined(a, b, 1); }
  int difference(int a, int b) const { return combined(a, b, -1); }
  /// difference(a, b) for each a in turn. Cost: O(size).
  void differences_from_all(int b, std::vector<int>* differences) const;

 private:
  int combined(int a, int b, int sign) const;

  std::vector<int> sides_;
  int size_ = 1;
};

}  // namespace hemiola::synthesis
