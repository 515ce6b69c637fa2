#!/usr/bin/env bash
# What takes longer than `make test` may: the C++ tests under two sanitizers and for ARM64, and the long Python tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
. scripts/cpp_tests.sh

cpp_tests_under() {  # cpp_tests_under <sanitizer> <targets> <options of ctest>
  local sanitizer=$1
  echo "== C++ tests under the $sanitizer sanitizer"
  targets=$2 build_tests "build/$sanitizer" -G Ninja -DHEMIOLA_PYTHON=OFF -DHEMIOLA_UNITY=ON -DHEMIOLA_SANITIZE="$sanitizer"
  run_tests "build/$sanitizer" "${@:3}"
}
GTEST_FILTER='-*/VotesAtScale.*/4096' cpp_tests_under address hemiola_tests  # 512 members do the same to memory
# Tests of other rooms start no threads, nor do these.
alone='SurvivorsVote*:*VotesAtScale.*:Recovery.*:LateEntry.*:CodecCombine.*:ProgramSource.*'
rooms=$(cd tests && printf 'test_%s ' base runtime/* | tr / _)
GTEST_FILTER="-$alone" cpp_tests_under thread "${rooms/test_runtime_fuzz /}" \
  -R '^test_(base|runtime)_' -E '^test_runtime_fuzz_'
scripts/test_arm64.sh
echo "== long Python tests"
# Each process reads all files that it is given: those without long tests would take a minute.
mapfile -t files < <(grep -rl 'mark\.long' tests papers/tests --include='test_*.py')
python -m pytest -n 3 -m long "$@" "${files[@]}"
