# SPDX-License-Identifier: Apache-2.0
"""Rewrite every generated file, or with --check say which are out of date (exit status 1).

Generated: the type stubs of the C++ module and of hemiola.algorithms; in docs/reference algorithms.md (the registry),
cli.md (the commands' help), exit-codes.md, errors.md, environment.md (the variables), public_names.txt (the names to
rely on) and api/ (the docstrings); the map in CONTRIBUTING.md (the folders' doors); the table in README.md
(docs/results/shared_memory.md); the list of pages in mkdocs.yml."""

import argparse
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

import algorithm_stub
import algorithm_table
import api_reference
import cli_reference
import environment_table
import errors_table
import exit_codes_table
import folder_map
import public_names
import readme_table
import site_nav

ROOT = Path(__file__).resolve().parent.parent
LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"


def stubs() -> dict[Path, str]:
    """Return the stubs of hemiola._core and its submodules, by path."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-r", "-m", "hemiola._core", "-O", folder]
        subprocess.run(command, check=True)
        written = sorted(Path(folder).rglob("*.pyi"))
        for path in written:
            subprocess.run(
                [sys.executable, "-m", "ruff", "format", "-q", "--line-length=110", str(path)], check=True
            )
        return {ROOT / "python/hemiola" / path.relative_to(folder): path.read_text() for path in written}


def generated() -> dict[Path, str]:
    """Return the text of every generated file, by path."""
    core = stubs()
    return {
        **{path: LICENCE + text for path, text in core.items()},
        ROOT / "python/hemiola/algorithms/__init__.pyi": LICENCE + algorithm_stub.text(),
        ROOT / "docs/reference/algorithms.md": algorithm_table.text(),
        ROOT / "docs/reference/cli.md": cli_reference.text(),
        ROOT / "docs/reference/errors.md": errors_table.text(),
        ROOT / "docs/reference/exit-codes.md": exit_codes_table.text(),
        ROOT / "docs/reference/environment.md": environment_table.text(),
        ROOT / "docs/reference/public_names.txt": public_names.text(core),
        **{ROOT / "docs/reference/api" / name: page for name, page in api_reference.pages(core).items()},
        ROOT / "CONTRIBUTING.md": folder_map.text(),
        ROOT / "README.md": readme_table.text(),
        ROOT / "mkdocs.yml": site_nav.text(),
    }


def main() -> int:
    """Write or check; see the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where a file would change"
    )
    check = parser.parse_args().check
    stale = 0
    for path, text in generated().items():
        old = path.read_text() if path.exists() else ""
        if old == text:
            continue
        name = str(path.relative_to(ROOT))
        if check:
            stale += 1
            diff = difflib.unified_diff(
                old.splitlines(), text.splitlines(), name, "regenerated", lineterm="", n=1
            )
            print("\n".join(list(diff)[:20]))
            print(f"{name} is out of date; run 'make generate' and commit it")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {name}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
