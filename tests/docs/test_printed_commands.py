# SPDX-License-Identifier: Apache-2.0
"""Whatever command README or the docs print runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import printed_commands
import pytest
from printed_commands import FORMS, ROOT, Smallest

from papers.__main__ import PAPERS

PRINTED = printed_commands.printed()
RUN = {form.words: form for form in FORMS if form.words}


def test_commands_are_found_wherever_they_are_printed() -> None:
    assert "python benchmarks/network.py --report" in PRINTED
    assert "hemiola topology convert dump.xml rack.yaml --repeat 4" in PRINTED
    assert "hemiola simulate all_reduce_ring cluster.yaml 64MiB --late 7=50ms" in PRINTED
    assert len(PRINTED) > 150


def test_every_printed_command_has_a_smallest_form() -> None:
    unlisted = [
        f"{where}: {text}" for text, where in PRINTED.items() if printed_commands.smallest(text) is None
    ]
    assert not unlisted, "list how it runs in tests/docs/printed_commands.py"


def test_no_form_is_listed_for_a_command_that_is_printed_nowhere() -> None:
    used = {printed_commands.smallest(command) for command in PRINTED}
    assert [form.pattern for form in FORMS if form not in used] == []


def test_every_printed_section_of_a_paper_is_one() -> None:
    for command, where in PRINTED.items():
        if found := re.match(r"python -m papers (\w+)(?: --only (\w+))?", command):
            assert found[1] in PAPERS, where
            assert found[2] is None or found[2] in PAPERS[found[1]].sections, where


def test_every_printed_script_is_there() -> None:
    for command, where in PRINTED.items():
        for script in re.findall(r"(?:benchmarks|scripts|examples)/[\w/]+\.(?:py|sh|yaml)", command):
            assert (ROOT / script).exists(), where


def test_options_of_printed_commands_are_there() -> None:
    reference = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (hemiola .*)\n((?:(?!## ).*\n)*)", reference, re.M))
    unknown = []
    for command, where in PRINTED.items():
        own = re.sub('"[^"]*"', "…", command.partition(" -- ")[0])
        if name := next((name for name in sections if f"{own} ".startswith(f"{name} ")), ""):
            told, of_a_program = sections[name], re.search(r"\S+\.py |-m ", own)
            own = own[: of_a_program.start()] if of_a_program else own
        elif script := re.match(r"(?:python )?(benchmarks/\w+\.py)", own):
            told = (ROOT / script[1]).read_text(encoding="utf-8")
        else:
            continue
        options = re.findall(r"(?<= )--?[a-z][\w-]*", own)
        unknown += [
            f"{where}: {option} of {command}" for option in options if not re.search(rf'["`]{option}\b', told)
        ]
    assert unknown == []


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("form", RUN.values(), ids=RUN.keys())
def test_a_printed_command_runs(form: Smallest, tmp_path: Path) -> None:
    for name in ("examples", "benchmarks", "scripts", "papers"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "examples/cluster8.yaml", tmp_path / "cluster.yaml")
    shutil.copy(ROOT / "examples/mesh.yaml", tmp_path / "box.yaml")
    shutil.copy(ROOT / "tests/topology/data/h100_four.xml", tmp_path / "dump.xml")
    (tmp_path / "train.py").write_text("import hemiola\nhemiola.init().barrier()\n")
    program, *arguments = shlex.split(form.words)
    beside = {"python": [sys.executable], "hemiola": [sys.executable, "-m", "hemiola"]}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        [*beside.get(program, [str(ROOT / program)]), *arguments],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=800,
    )
    said = ended.stdout + ended.stderr
    assert "Traceback" not in said, said[-4000:]
    assert ended.returncode in ((0, 1) if form.may_miss else (0,)), said[-4000:]
