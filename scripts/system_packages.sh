# Sourced by the scripts that set up: what must come from the system. It is installed only where it is missing and the user
# may (root on a Debian-like system); otherwise the message says what to install.

need() {  # need <what for> <Debian package>: install it or say how
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing $2 ($1)"
    { apt-get install -qq -y "$2" || { apt-get update -qq && apt-get install -qq -y "$2"; }; } >/dev/null
  else
    echo "setup: missing: $1. Install it (on Debian or Ubuntu: sudo apt-get install $2) and run make again." >&2
    exit 1
  fi
}

need_python() {
  command -v "$python" >/dev/null || need "Python 3.11 or newer" python3
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "setup: expected Python 3.11 or newer, found $("$python" --version); set PYTHON=/path/to/python" >&2; exit 1; }
  "$python" -c 'import ensurepip, venv' 2>/dev/null || need "Python's venv module" python3-venv
}

need_compiler() {
  command -v c++ >/dev/null || need "a C++20 compiler" g++
  "$python" -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' ||
    need "Python's C headers" python3-dev
}

need_gtest() {
  [ -e /usr/include/gtest/gtest.h ] || need "GoogleTest, for the C++ tests" libgtest-dev
}
