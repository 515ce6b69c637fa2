// SPDX-License-Identifier: Apache-2.0
// The format that messages of this process are written in, where somebody has chosen one to compare with. A message says its
// format itself, so ranks need not agree.
#pragma once

#include <optional>

#include "hemiola/codec/format.hpp"

namespace hemiola::codec {

/// Nothing: the fastest of each message, which is how it is from the start.
std::optional<Format> chosen_format();
/// For messages that begin to be written from now on, by any thread. Returns the choice before.
std::optional<Format> choose_format(std::optional<Format> format);

}  // namespace hemiola::codec
