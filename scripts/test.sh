#!/usr/bin/env bash
# What a change must pass: the C++ tests and all Python tests but the long ones. Each part ends with its runner's closing
# line.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
. scripts/cpp_tests.sh

echo "== C++ tests"
export HEMIOLA_TEST_MPI=$PWD/.venv/lib/libmpi.so.12  # of the wheel that the test extra has
plain=$(ls -dt build/cp3*/ | head -n 1)  # where set-up has built the Python module: the core is there already
targets="hemiola_tests libhemiola" build_tests "${plain%/}"
run_tests "${plain%/}"
echo "== the wire over MPI, between processes"
for ranks in 2 4; do
  mpirun -n "$ranks" "${plain%/}/tests/test_runtime_contracts" --gtest_filter='Mpi/*' --gtest_brief=1 | grep PASSED
done
# Tests of one process share the cores, a process for each; those that start ranks of their own run four at a time, since
# ranks are waited for more than they work. What is measured while other tests have the cores is wrong too often.
single=(tests/algorithms tests/arguments tests/codec tests/conformance tests/formats tests/models tests/planner tests/pruning
  tests/style tests/synthesis tests/topology tests/view tests/workload)
alone=(tests/calibration/test_measuring.py tests/communicator/test_late_planned.py tests/network/test_late_between_hosts.py
  tests/network/test_slow_nic.py)
echo "== Python tests of one process"
python -m pytest -n auto -m "not long" "$@" "${single[@]}"
echo "== Python tests with ranks"
python -m pytest -n 4 -m "not long" "$@" "${single[@]/#/--ignore=}" "${alone[@]/#/--ignore=}"
echo "== Python tests that measure"
python -m pytest -m "not long" "$@" "${alone[@]}"
