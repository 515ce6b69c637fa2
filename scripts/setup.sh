#!/usr/bin/env bash
# Makes .venv and installs Hemiola into it with the extras named on the command line. System packages are installed only
# where one is missing and the user may (root on a Debian-like system); otherwise the message says what to install.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

need() {  # need <what for> <Debian package>: install it or say how
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing $2 ($1)"
    { apt-get install -qq -y "$2" || { apt-get update -qq && apt-get install -qq -y "$2"; }; } >/dev/null
  else
    echo "setup: missing: $1. Install it (on Debian or Ubuntu: sudo apt-get install $2) and run make again." >&2
    exit 1
  fi
}

command -v "$python" >/dev/null || need "Python 3.11 or newer" python3
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  { echo "setup: expected Python 3.11 or newer, found $("$python" --version); set PYTHON=/path/to/python" >&2; exit 1; }
command -v c++ >/dev/null || need "a C++20 compiler" g++
"$python" -c 'import ensurepip, venv' 2>/dev/null || need "Python's venv module" python3-venv
"$python" -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' ||
  need "Python's C headers" python3-dev
if [[ " $* " == *" test "* ]]; then
  [ -e /usr/include/gtest/gtest.h ] || need "GoogleTest, for the C++ tests" libgtest-dev
  if [ "$(id -u)" = 0 ]; then  # hosts on this machine: where users may not make any, their tests say so
    command -v ip >/dev/null || need "ip and tc, for hosts on this machine" iproute2
    [ -x /usr/sbin/sshd ] || need "sshd, for launching over ssh" openssh-server
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
