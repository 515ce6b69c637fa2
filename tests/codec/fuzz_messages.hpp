// SPDX-License-Identifier: Apache-2.0
// One input of the fuzzer; aborts where a promise is broken.
#pragma once

#include <cstddef>
#include <span>

namespace hemiola::codec_tests {

void fuzz_message(std::span<const std::byte> input);

}  // namespace hemiola::codec_tests
