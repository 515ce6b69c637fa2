// SPDX-License-Identifier: Apache-2.0
// Names in other programs: they are compared without case, '_', '-' and blanks, and 'avg' is 'average'.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hemiola/base/dtype.hpp"

namespace hemiola {

/// A name's letters and digits, in lower case: "All-Reduce" and "all_reduce" are "allreduce".
std::string folded(std::string_view name);

/// The operation that a name means, ours ("average") or another's ("avg", "SUM", "prod"); nothing for any other text.
std::optional<Op> op_meant(std::string_view name);

}  // namespace hemiola
