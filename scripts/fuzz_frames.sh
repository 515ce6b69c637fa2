#!/usr/bin/env bash
# Fuzzes what hears other ranks, control plane, data wires and shared memory, under the address and undefined-behaviour sanitizers.
#   scripts/fuzz_frames.sh [SECONDS] [SEED]
# Each input is a function of its seed, which stands in the report of what fails.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600} seed=${2:-$(date +%s)000000} build=build/fuzz
mkdir -p "$build"
cat > "$build/fuzz_frames_main.cpp" <<'MAIN'
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "fuzz_frames.hpp"

int main(int, char** arguments) {
  const std::time_t end = std::time(nullptr) + std::atol(arguments[1]);
  std::uint64_t seed = std::strtoull(arguments[2], nullptr, 10), count = 0;
  for (; std::time(nullptr) < end; ++seed, ++count) {
    hemiola::Random random(seed);
    if (count % 64 == 0) std::fprintf(stderr, "\rseed %llu", static_cast<unsigned long long>(seed));
    std::vector<std::byte> input = hemiola::testing::likely_frames(random);
    hemiola::testing::fuzz_frames(input);
    for (int i = 0; i < 3 && !input.empty(); ++i)
      input[random.below(static_cast<std::uint32_t>(input.size()))] ^= std::byte(1u << random.below(8));
    hemiola::testing::fuzz_frames(std::span(input).first(random.below(static_cast<std::uint32_t>(input.size()) + 1)));
  }
  std::fprintf(stderr, "\n%llu inputs, nothing found\n", static_cast<unsigned long long>(count));
}
MAIN
${CXX:-g++} -std=gnu++20 -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-error -Isrc -isystem third_party/xxhash -Itests/runtime/fuzz \
  "$build/fuzz_frames_main.cpp" tests/runtime/fuzz/fuzz_frames.cpp src/hemiola/base/*.cpp src/hemiola/runtime/control/*.cpp \
  src/hemiola/runtime/control/hosts/*.cpp src/hemiola/runtime/session/hosts/{cause_desk,exchange_desk,roster,survivors_desk,survivors_vote,frames}.cpp \
  src/hemiola/schedule/{collective,collective_names}.cpp src/hemiola/runtime/net/random_bytes.cpp src/hemiola/runtime/session/{members,progress_threads}.cpp src/hemiola/runtime/wire/wire.cpp \
  src/hemiola/runtime/wire/tcp/{message_receiver,stream_socket}.cpp src/hemiola/runtime/wire/shm/{channel,peer_memory}.cpp \
  src/hemiola/runtime/control/local/local_choices.cpp src/hemiola/runtime/session/local/packet_socket.cpp \
  src/hemiola/runtime/messages/mailbox.cpp -o "$build/frames"
"$build/frames" "$seconds" "$seed"
