// SPDX-License-Identifier: Apache-2.0
// What the fuzzer has found worth keeping, again: every input of the corpus, and messages that the encoder writes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz_messages.hpp"
#include "messages.hpp"
#include "sparse_bits.hpp"

namespace hemiola::codec_tests {
namespace {

TEST(CodecCorpus, EveryInputIsRefusedOrDecodesAlikeEverywhere) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEMIOLA_CODEC_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    fuzz_message(std::as_bytes(std::span(text)));
    ++count;
  }
  EXPECT_GT(count, 50) << HEMIOLA_CODEC_CORPUS;
}

TEST(CodecCorpus, GoodMessagesPassAsTheyAre) {
  Random random(41);
  for (const DType dtype : kOfWidth)
    for (const Format format : kFormats)
      for (const double density : {0.0, 0.003, 0.1, 0.98}) {
        const std::size_t count = 97 * 64;
        const Bytes message =
            encoded(dtype, sparse_array(random, count, element_bytes(dtype), density, 3), format);
        Bytes input{static_cast<std::byte>(dtype), std::byte{64}, std::byte{0}};
        input.insert(input.end(), message.begin(), message.end());
        fuzz_message(input);
      }
}

}  // namespace
}  // namespace hemiola::codec_tests
