#!/usr/bin/env bash
# Everything that must hold before a commit, apart from the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

echo "== format";     git ls-files '*.cpp' '*.hpp' | xargs clang-format --dry-run -Werror
                      ruff format --check -q python papers tests benchmarks scripts packaging
echo "== lint";       ruff check -q python papers tests benchmarks scripts packaging
echo "== types";      mypy
                      MYPYPATH=python:benchmarks:scripts:tests mypy benchmarks/*.py scripts/*.py examples/*.py
echo "== layers";     python scripts/check_layers.py
                      imports=$(lint-imports --no-logo --no-cache) || { echo "$imports"; exit 1; }
echo "== words";      pytest -q --tb=line tests/docs/test_{changelog,decisions,links,prose}.py
echo "== generated";  python scripts/generate.py --check
echo "all checks passed"
