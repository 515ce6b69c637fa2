// SPDX-License-Identifier: Apache-2.0
// One input of the fuzzer of what comes from other ranks; ends the process where a promise is broken.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hemiola/base/random.hpp"

namespace hemiola::testing {

/// The input is a list of messages, each for one of the parts that hear them; then the same bytes as a connection's frames, as
/// a data wire's, as packets and memory that ranks of a host share, and as messages with tags. Each part takes a message or
/// throws FormatError.
void fuzz_frames(std::span<const std::byte> input);

/// An input that gets far: numbers that are small or extreme, lists of about the right length.
std::vector<std::byte> likely_frames(Random& random);

}  // namespace hemiola::testing
