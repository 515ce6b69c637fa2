// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/topology/grid_dimensions.hpp"

#include <cstdint>

#include "hemiola/base/error.hpp"
#include "hemiola/schedule/collective.hpp"

namespace hemiola::algorithms {
namespace {

constexpr int kMaxDimensions = 16;

}  // namespace

void check_dimensions(const std::string& name, const std::vector<topologies::Dimension>& dimensions) {
  if (dimensions.empty() || dimensions.size() > kMaxDimensions)
    throw ArgumentError(name + ": expected 1 … " + std::to_string(kMaxDimensions) + " dimensions, found " +
                        std::to_string(dimensions.size()));
  std::int64_t rank_count = 1;
  for (const auto& dimension : dimensions) {
    if (dimension.size >= 1) rank_count *= dimension.size;
    if (dimension.size < 1 || rank_count > Collective::kMaxRanks)
      throw ArgumentError(name + ": expected sizes of at least 1 that make a grid of at most " +
                          std::to_string(Collective::kMaxRanks) + " ranks, found size " +
                          std::to_string(dimension.size));
  }
}

std::vector<int> sizes_of(const std::vector<topologies::Dimension>& dimensions) {
  std::vector<int> sizes;
  for (const topologies::Dimension& dimension : dimensions) sizes.push_back(dimension.size);
  return sizes;
}

}  // namespace hemiola::algorithms
