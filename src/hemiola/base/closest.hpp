// SPDX-License-Identifier: Apache-2.0
// Which known word somebody meant who wrote another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hemiola {

/// The known word from which `text` differs in the fewest letters (added, left out or changed), the first of several;
/// empty where that is more than half of its letters.
std::string_view closest(std::string_view text, const std::vector<std::string>& known);

}  // namespace hemiola
