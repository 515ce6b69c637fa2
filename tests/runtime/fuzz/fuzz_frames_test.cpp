// SPDX-License-Identifier: Apache-2.0
// What other ranks send is heard or refused, whatever it is; scripts/fuzz_frames.sh goes on for longer.
#include "fuzz_frames.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace hemiola::testing {
namespace {

/// HEMIOLA_FUZZ_SEED is the first seed, HEMIOLA_FUZZ_COUNT how many follow.
std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::stoull(text) : otherwise;
}

TEST(FuzzedFrames, AreHeardOrRefused) {
  const std::uint64_t first = number_in("HEMIOLA_FUZZ_SEED", 1);
  for (std::uint64_t seed = first; seed < first + number_in("HEMIOLA_FUZZ_COUNT", 3000); ++seed) {
    SCOPED_TRACE("HEMIOLA_FUZZ_SEED=" + std::to_string(seed));
    Random random(seed);
    std::vector<std::byte> input = likely_frames(random);
    fuzz_frames(input);
    for (int i = 0; i < 3 && !input.empty(); ++i)
      input[random.below(static_cast<std::uint32_t>(input.size()))] ^= std::byte(1u << random.below(8));
    fuzz_frames(std::span(input).first(random.below(static_cast<std::uint32_t>(input.size()) + 1)));
  }
}

}  // namespace
}  // namespace hemiola::testing
