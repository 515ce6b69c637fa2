// SPDX-License-Identifier: Apache-2.0
// The assignment problem: rows of a square matrix get a column each, at the least total cost.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace hemiola {

/// The column of each row at the least total cost, by shortest augmenting paths [crouse2016]: at most some n³ steps.
/// A pair of infinite cost is forbidden; nothing where every assignment has one. `cost` holds n rows of n numbers, none
/// of them NaN or -∞. Deterministic; where all costs are equal, row i gets column i.
std::optional<std::vector<int>> assignment(std::span<const double> cost, int n);

}  // namespace hemiola
