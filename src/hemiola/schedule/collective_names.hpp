// SPDX-License-Identifier: Apache-2.0
// Which collective a name means that is not ours.
#pragma once

#include <string_view>

namespace hemiola {

/// Our name of the collective that this one means: of "allreduce", "All-Reduce", "bcast" or "all_to_all_single"; ours means
/// itself, and any other text nothing ("").
std::string_view kind_meant(std::string_view name);

}  // namespace hemiola
