// SPDX-License-Identifier: Apache-2.0
// An argument that is one number for all items (dimensions, NICs, cables), or one for each.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola {

using PerItem = std::variant<double, std::vector<double>>;

/// The values of `count` items; throws ArgumentError when a list has another length.
inline std::vector<double> values_of(const PerItem& values, std::size_t count, const char* what) {
  if (const auto* same = std::get_if<double>(&values)) return std::vector<double>(count, *same);
  const auto& list = std::get<std::vector<double>>(values);
  if (list.size() != count)
    throw ArgumentError(std::string("expected one ") + what + ", or one for each of " +
                        std::to_string(count) + ", found " + std::to_string(list.size()));
  return list;
}

}  // namespace hemiola
