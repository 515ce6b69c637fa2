#!/usr/bin/env bash
# Makes .venv and installs Hemiola into it with the extras named on the command line. System packages are installed only
# where one is missing and the user may (root on a Debian-like system); otherwise the message says what to install.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
. scripts/system_packages.sh
need_python
need_compiler
if [[ " $* " == *" test "* ]]; then
  need_gtest
  command -v pkg-config >/dev/null || need "pkg-config, for programs in C" pkg-config
  command -v gfortran >/dev/null || need "a Fortran compiler, for the example in Fortran" gfortran
  for shell in zsh fish; do  # completion is tested in each
    command -v $shell >/dev/null || need "the shell $shell, for the tests of completion" $shell
  done
  if [ "$(id -u)" = 0 ]; then  # hosts on this machine: where users may not make any, their tests say so
    command -v ip >/dev/null || need "ip and tc, for hosts on this machine" iproute2
    [ -x /usr/sbin/sshd ] || need "sshd, for launching over ssh" openssh-server
    command -v valgrind >/dev/null || need "valgrind, which counts the instructions of a call" valgrind
    command -v chromium google-chrome >/dev/null || need "Chromium, in which pages are opened" chromium
  fi
fi

[ -x .venv/bin/pip ] || "$python" -m venv .venv
extras=$(IFS=,; echo "$*")
echo "setup: installing Python packages and building the core (a few minutes the first time)"
pip="env PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/bin/pip install --quiet"
$pip "scikit-build-core>=1.0" "nanobind>=3.1" "cmake>=3.25" "ninja>=1.11"
PATH="$PWD/.venv/bin:$PATH" $pip --no-build-isolation --editable ".[$extras]"
# What pip does for what it copies: else every process compiles it anew where Python may not write it (as in many a CI).
.venv/bin/python -m compileall -q python/hemiola papers tests
