#!/usr/bin/env bash
# The tests of rooms and nothing else, without torch, MPI and UCX: see quick.py.
#   scripts/quick.sh [ROOM...] [--core WHEEL]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
. scripts/system_packages.sh
need_python
[[ " $* " == *" --core "* ]] || { need_compiler; need_gtest; }
exec "$python" scripts/quick.py "$@"
