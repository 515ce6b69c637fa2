# Sourced by the scripts that run C++ tests: builds and runs them in a folder of their own.

build_tests() {  # build_tests <folder> <options of CMake>: `$targets` or all, into the folder; its output into <folder>.log
  local folder=$1
  shift
  mkdir -p build
  cmake -S . -B "$folder" -DHEMIOLA_TESTS=ON "$@" >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
  cmake --build "$folder" --target ${targets:-hemiola_tests} >>"$folder.log" 2>&1 || { tail -n 60 "$folder.log"; exit 1; }
}

# Where PyPI's UCX is, if it is installed. Tests use that; the system's, in runs of their own: one process has one UCX.
packaged_ucx() {
  python - <<'EOF'
from importlib.util import find_spec
spec = find_spec("libucx")
print(spec.submodule_search_locations[0] + "/lib/libucp.so.0" if spec else "")
EOF
}

# The last lines of a long log may be all that a reader has: they name each failed test, and what a sanitizer found first.
failed_tests() {  # failed_tests <log of ctest>
  echo "== Failed C++ tests, of $1"
  grep -hE -A 12 '^\[  FAILED  \] [^0-9]|: Failure$|ERROR: AddressSanitizer|WARNING: ThreadSanitizer|terminate called' "$1" |
    head -n 60 || true
}

run_tests() {  # run_tests <folder> <options of ctest>
  local folder=$1
  shift
  local log="$folder/Testing/Temporary/LastTest.log"
  # A death in a test must be seen by the test, not slowed by symbolizing; leaks count.
  TSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=detect_leaks=1 \
    HEMIOLA_TEST_UCX=${ucx-$(packaged_ucx)} \
    ctest --test-dir "$folder" --output-on-failure --timeout 600 -j 2 "$@" | tail -n 200 ||
    { failed_tests "$log"; exit 1; }
  grep -hE '^\[  (PASSED |SKIPPED) \] [0-9]+ test' "$log" |
    awk '{tests[$2] += $4} END {print "C++ tests: " tests["PASSED"] + 0 " passed, " tests["SKIPPED"] + 0 " skipped"}'
}
