// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/function.hpp"

#include <limits>

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {

int to_int(std::int64_t value, const std::string& parameter) {
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw ArgumentError(parameter + ": expected an integer of 32 bits, found " + std::to_string(value));
  return static_cast<int>(value);
}

}  // namespace hemiola::algorithms
