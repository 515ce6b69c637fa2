#!/usr/bin/env bash
# All tests. C++ first, plain and under two sanitizers, then Python; pytest's closing line comes last.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

cpp_tests() {  # cpp_tests <build folder> <sanitizer>
  echo "== C++ tests ${2:+under the $2 sanitizer}"
  cmake -S . -B "build/$1" -G Ninja -DHEMIOLA_PYTHON=OFF -DHEMIOLA_TESTS=ON -DHEMIOLA_SANITIZE="$2" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo >"build/$1.log" 2>&1 || { cat "build/$1.log"; exit 1; }
  cmake --build "build/$1" >>"build/$1.log" 2>&1 || { tail -n 60 "build/$1.log"; exit 1; }
  # A death in a test must be seen by the test, not slowed by symbolizing; leaks count.
  TSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=detect_leaks=1 \
    ctest --test-dir "build/$1" --output-on-failure --timeout 300 -j 2 | tail -n 8
}

mkdir -p build
cpp_tests cpp ""
cpp_tests asan address
cpp_tests tsan thread
echo "== Python tests"
python -m pytest "$@"
