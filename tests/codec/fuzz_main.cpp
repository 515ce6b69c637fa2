// SPDX-License-Identifier: Apache-2.0
// The entry point of libFuzzer; scripts/fuzz_codecs.sh builds and runs it.
#include "fuzz_messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  hemiola::codec_tests::fuzz_message({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
