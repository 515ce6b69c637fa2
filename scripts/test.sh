#!/usr/bin/env bash
# All tests. C++ first, plain and under two sanitizers, then Python; pytest's closing line comes last.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

build_tests() {  # build_tests <folder> <options of CMake>: into the folder, its output into <folder>.log
  local folder=$1
  shift
  cmake -S . -B "$folder" -DHEMIOLA_TESTS=ON "$@" >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
  cmake --build "$folder" --target hemiola_tests >>"$folder.log" 2>&1 || { tail -n 60 "$folder.log"; exit 1; }
}

run_tests() {  # run_tests <folder>
  # A death in a test must be seen by the test, not slowed by symbolizing; leaks count.
  TSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=detect_leaks=1 \
    ctest --test-dir "$1" --output-on-failure --timeout 300 -j 2 | tail -n 8
}

echo "== C++ tests"
plain=$(ls -dt build/cp3*/ | head -n 1)  # where set-up has built the Python module: the core is there already
build_tests "${plain%/}"
run_tests "${plain%/}"
for sanitizer in address thread; do
  echo "== C++ tests under the $sanitizer sanitizer"
  build_tests "build/$sanitizer" -G Ninja -DHEMIOLA_PYTHON=OFF -DHEMIOLA_SANITIZE=$sanitizer
  run_tests "build/$sanitizer"
done
echo "== Python tests"
python -m pytest "$@"
