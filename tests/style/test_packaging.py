# SPDX-License-Identifier: Apache-2.0
"""The files that bring Hemiola to users agree with the project, and the source archive is small."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import yaml

import hemiola as hm

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
#: Of the source archive.
MOST_BYTES = 2_000_000


def requirements() -> set[tuple[str, str]]:
    """Return the names and least versions of the required packages."""
    found = {tuple(re.split(r">=", requirement)) for requirement in PROJECT["dependencies"]}
    return {(name.replace("_", "-").lower(), version) for name, version in found}


def test_every_paper_names_the_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == hm.__version__
    assert (
        yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())["context"]["version"]
        == hm.__version__
    )
    assert f'version("{hm.__version__}")' in (ROOT / "packaging/spack/package.py").read_text()
    assert f"## [{hm.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_conda_and_spack_require_the_same_packages() -> None:
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
    conda = {tuple(line.split(" >=")) for line in recipe["requirements"]["run"] if line != "python"}
    assert {(name.replace("_", "-"), version) for name, version in conda} == requirements()
    spack = (ROOT / "packaging/spack/package.py").read_text()
    required = r'depends_on\("py-([\w-]+)@([\d.]+):", type=\("build", "run"\)\)'
    assert set(re.findall(required, spack)) == requirements()
    assert recipe["about"]["license"] == PROJECT["license"]
    assert PROJECT["license"] in spack


def test_wheels_are_built_for_every_python_that_is_named() -> None:
    named = {
        found[1].replace(".", "")
        for classifier in PROJECT["classifiers"]
        if (found := re.match(r"Programming Language :: Python :: (3\.\d+)$", classifier))
    }
    (minors,) = re.findall(r"cp3\{([\d,]+)\}", SETTINGS["tool"]["cibuildwheel"]["build"])
    assert {f"3{minor}" for minor in minors.split(",")} == named
    workflow = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text())
    architectures = {each["arch"] for each in workflow["jobs"]["wheels"]["strategy"]["matrix"]["include"]}
    assert architectures == {"x86_64", "aarch64"}
    assert workflow["jobs"]["publish"]["permissions"] == {"id-token": "write"}


def test_the_source_archive_is_small_and_holds_the_licences(tmp_path: Path) -> None:
    command = "import sys, scikit_build_core.build as build; build.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", command, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    assert archive.stat().st_size <= MOST_BYTES, "see sdist.exclude in pyproject.toml"
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"LICENSE", "THIRD_PARTY.md", "third_party/nanobind/LICENSE", "CMakeLists.txt"} <= names
    assert not any(name.startswith(("docs/results", "tests/")) for name in names)
