// SPDX-License-Identifier: Apache-2.0
// Which host a process runs on, as far as one can tell from inside.
#pragma once

#include "hemiola/base/hash.hpp"

namespace hemiola {

/// Equal for processes that may have memory in common: of one running kernel (its boot identifier), and in one network
/// namespace, since containers and emulated hosts share a kernel. Whether they really have, opening that memory shows.
Hash128 host_identity();

}  // namespace hemiola
