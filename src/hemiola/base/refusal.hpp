// SPDX-License-Identifier: Apache-2.0
/// The text for a system's refusal: the reason, its limit, and how to lift it.
#pragma once

#include <string>

namespace hemiola {

/// "WHAT: REASON. LIMIT AND ADVICE", for an error number.
std::string refusal(const std::string& what, int error);

}  // namespace hemiola
