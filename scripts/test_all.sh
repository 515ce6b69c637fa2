#!/usr/bin/env bash
# What takes longer than `make test` may: the C++ tests under two sanitizers and for ARM64, and the long Python tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
. scripts/cpp_tests.sh

# What has no threads takes two fifths of the time under the thread sanitizer, which finds nothing there.
declare -A tests=([address]="*" [thread]="-Codec*:FairShares*")
for sanitizer in address thread; do
  echo "== C++ tests under the $sanitizer sanitizer"
  build_tests "build/$sanitizer" -G Ninja -DHEMIOLA_PYTHON=OFF -DHEMIOLA_UNITY=ON -DHEMIOLA_SANITIZE=$sanitizer
  GTEST_FILTER=${tests[$sanitizer]} run_tests "build/$sanitizer"
done
scripts/test_arm64.sh
echo "== long Python tests"
python -m pytest -n 3 -m long "$@"
