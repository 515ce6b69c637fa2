// All published algorithms, in the order of the documentation. Adding one: its file defines the entry,
// registry.cpp lists it, and the conformance tests, the documentation and the planner find it here.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// Every entry; names are unique.
const std::vector<Algorithm>& registry();
/// Names of the algorithms for one collective, or for any, that need that beside a rank count; in registry order.
std::vector<std::string_view> names(std::optional<CollectiveKind> kind = std::nullopt,
                                    Needs needs = Needs::nothing);
/// Throws ArgumentError for an unknown name.
const Algorithm& get(std::string_view name);

}  // namespace hemiola::algorithms
