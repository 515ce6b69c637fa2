#!/usr/bin/env bash
# Fuzzes the decoders of coded messages: libFuzzer under the address and undefined-behaviour sanitizers.
#   scripts/fuzz_codecs.sh [SECONDS] [FOLDER]
# New inputs go into FOLDER (build/fuzz/found); what is worth keeping goes, minimized, into tests/codec/corpus:
#   build/fuzz/codecs -merge=1 tests/codec/corpus build/fuzz/found
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600} found=${2:-build/fuzz/found}
clang=$(command -v clang++ || compgen -c clang++- | sort -V | tail -n 1) || true
[ -n "$clang" ] || { echo "fuzz_codecs: expected clang++ with libFuzzer (on Debian: apt-get install clang)"; exit 1; }
mkdir -p build/fuzz "$found"
"$clang" -std=gnu++20 -O2 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -ffp-contract=off \
  -Isrc -Itests/codec src/hemiola/codec/*.cpp src/hemiola/codec/*/*.cpp src/hemiola/base/error.cpp \
  tests/codec/fuzz_messages.cpp tests/codec/fuzz_main.cpp -o build/fuzz/codecs
build/fuzz/codecs -max_len=4096 -max_total_time="$seconds" -timeout=60 -use_value_profile=1 -print_final_stats=1 \
  -artifact_prefix=build/fuzz/   "$found" tests/codec/corpus
