# SPDX-License-Identifier: Apache-2.0
"""Every source names its licence, and THIRD_PARTY.md names the sources of others that a wheel holds."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nanobind

ROOT = Path(__file__).resolve().parents[2]
MARKS = {".py": "#", ".pyi": "#", ".cpp": "//", ".hpp": "//"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
THIRD_PARTY = sorted(path.name for path in (ROOT / "third_party").iterdir() if path.is_dir())


def test_every_source_names_its_licence_in_its_first_line() -> None:
    listed = subprocess.run(
        ["git", "ls-files", *(f"*{ending}" for ending in MARKS)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    sources = [ROOT / name for name in listed.stdout.split() if not name.startswith("third_party/")]
    assert len(sources) > 1000
    lacking = [
        str(path.relative_to(ROOT))
        for path in sources
        if path.exists()
        and path.read_text().partition("\n")[0] != f"{MARKS[path.suffix]} SPDX-License-Identifier: Apache-2.0"
    ]
    assert not lacking, f"begin with the line 'SPDX-License-Identifier: Apache-2.0': {lacking}"


def test_the_sources_of_others_are_told_with_their_licences() -> None:
    page = (ROOT / "THIRD_PARTY.md").read_text()
    assert len(THIRD_PARTY) >= 3
    for name in THIRD_PARTY:
        assert f"`third_party/{name}/LICENSE`" in page
        assert (ROOT / "third_party" / name / "LICENSE").stat().st_size > 500
    expression = PROJECT["license"].split(" AND ")
    assert expression[0] == "Apache-2.0"
    assert all(licence in page for licence in expression)


def test_the_texts_of_compiled_in_libraries_are_those_of_the_build() -> None:
    """nanobind and its hash map are no part of this repository; a newer one may have another text."""
    ours = (ROOT / "third_party/robin_map/LICENSE").read_text().split()
    header = Path(nanobind.include_dir()).parent / "ext/robin_map/include/tsl/robin_map.h"
    words = header.read_text().partition("*/")[0].replace("/**", " ").replace(" * ", " ").split()
    assert [word for word in words if word != "*"] == ours
    assert "Wenzel Jakob" in (ROOT / "third_party/nanobind/LICENSE").read_text()


def test_a_wheel_holds_every_licence_in_its_dist_info(tmp_path: Path) -> None:
    """The build's own metadata, without compiling."""
    command = "import sys, scikit_build_core.build as build; print(build.prepare_metadata_for_build_wheel(sys.argv[1]))"
    ended = subprocess.run(
        [sys.executable, "-c", command, str(tmp_path)], cwd=ROOT, check=True, capture_output=True, text=True
    )
    info = tmp_path / ended.stdout.split()[-1]
    names = ["LICENSE", "THIRD_PARTY.md", *(f"third_party/{name}/LICENSE" for name in THIRD_PARTY)]
    for name in names:
        assert (info / "licenses" / name).read_text() == (ROOT / name).read_text()
    metadata = (info / "METADATA").read_text()
    assert f"License-Expression: {PROJECT['license']}\n" in metadata
    assert sorted(re.findall(r"^License-File: (.*)$", metadata, re.M)) == sorted(names)
