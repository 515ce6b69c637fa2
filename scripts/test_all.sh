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
cpp_tests_under address hemiola_tests
# Other rooms have no threads.
cpp_tests_under thread "$(cd tests && printf 'test_%s ' base algorithms synthesis runtime/* | tr / _)" \
  -R '^test_(base|algorithms|synthesis|runtime)_'
scripts/test_arm64.sh
echo "== long Python tests"
python -m pytest -n 3 -m long "$@"
