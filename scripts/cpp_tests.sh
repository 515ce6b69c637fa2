# Sourced by the scripts that run C++ tests: builds and runs them in a folder of their own.

build_tests() {  # build_tests <folder> <options of CMake>: into the folder, its output into <folder>.log
  local folder=$1
  shift
  mkdir -p build
  cmake -S . -B "$folder" -DHEMIOLA_TESTS=ON "$@" >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
  cmake --build "$folder" --target hemiola_tests >>"$folder.log" 2>&1 || { tail -n 60 "$folder.log"; exit 1; }
}

run_tests() {  # run_tests <folder> <options of ctest>
  local folder=$1
  shift
  # A death in a test must be seen by the test, not slowed by symbolizing; leaks count.
  TSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=detect_leaks=1 \
    ctest --test-dir "$folder" --output-on-failure --timeout 300 -j 2 "$@" | tail -n 8
}
