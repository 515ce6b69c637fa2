// SPDX-License-Identifier: Apache-2.0
// Bytes that nobody can guess, from the system. For repeatable numbers see base/random.hpp.
#pragma once

#include <cstddef>
#include <span>

namespace hemiola {

void fill_randomly(std::span<std::byte> bytes);

}  // namespace hemiola
