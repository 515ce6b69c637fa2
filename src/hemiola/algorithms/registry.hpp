// SPDX-License-Identifier: Apache-2.0
// All algorithms that C++ makes, in the order of the documentation. Adding one: its file defines the entry, registry.cpp
// lists it, and bindings, tests, documentation, planner and command line find it here. No registration by static
// initializers: a static library drops files that nobody names.
#pragma once

#include <vector>

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

/// Every entry; names are unique.
const std::vector<Algorithm>& registry();

}  // namespace hemiola::algorithms
