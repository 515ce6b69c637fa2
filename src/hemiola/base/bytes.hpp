// SPDX-License-Identifier: Apache-2.0
// Bytes that somebody owns.
#pragma once

#include <cstddef>
#include <vector>

namespace hemiola {

using Bytes = std::vector<std::byte>;

}  // namespace hemiola
