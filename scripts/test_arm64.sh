#!/usr/bin/env bash
# The C++ tests of what depends on the processor: codecs with ARM64's own instructions, additions, clocks. Built with Debian's
# cross-compiler, run under qemu-user. qemu keeps this machine's order of memory accesses; orders are the thread sanitizer's
# to judge.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
. scripts/cpp_tests.sh

echo "== C++ tests for ARM64"
missing=()
command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
[ -e /usr/src/googletest/CMakeLists.txt ] || missing+=(googletest)
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing ${missing[*]}"
  { apt-get install -qq -y "${missing[@]}" ||
    { apt-get update -qq && apt-get install -qq -y "${missing[@]}"; }; } >/dev/null && missing=()
fi
if [ ${#missing[@]} -gt 0 ]; then
  echo "left out: missing ${missing[*]} (on Debian or Ubuntu: sudo apt-get install ${missing[*]})"
  exit 0
fi

# Each file alone and with nothing precompiled: a missing #include shows here.
targets="test_base test_codec test_processor" build_tests build/arm64 -G Ninja -DHEMIOLA_PYTHON=OFF \
  -DHEMIOLA_PRECOMPILED=OFF -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64-linux-gnu.cmake" \
  -DHEMIOLA_GTEST_SOURCE=/usr/src/googletest
run_tests build/arm64 -R '^test_(base|codec|processor)_'
