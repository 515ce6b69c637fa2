# SPDX-License-Identifier: Apache-2.0
"""The code blocks of the docs. Those of a page run in a folder: first its Python, then its shell blocks.

A block runs as it stands, unless a note in the line above it, which no reader sees, says otherwise:
`<!-- block: needs a GPU -->`. NOTES has the notes that there are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pages
from pages import ROOT

sys.path.insert(0, str(ROOT / "tests"))

LANGUAGES = {"c", "cmake", "python", "sh", "yaml", "text"}
#: Why a block does not run with its page, or how it does.
NOTES = {
    "needs a cluster": "several hosts, or a launcher of theirs",
    "needs a GPU": "",
    "needs root": "runs by itself, where this user may make hosts of network namespaces",
    "needs another package": "it, or what it starts, installs packages from an index",
    "run by FILE": "a test, with what the block expects around it",
    "saved as FILE": "a script for the page's later blocks",
    "long": "too long for `make test`",
}
_NOTE = re.compile(r"<!-- block: (.+) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with the number of its first line, and its note."""

    page: str
    line: int
    language: str
    text: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str:
        """Return the file that the note names."""
        return self.note.rpartition(" ")[2] if self.note.startswith(("run by ", "saved as ")) else ""

    @property
    def kind(self) -> str:
        """Return the note as NOTES has it."""
        return self.note.replace(self.file, "FILE") if self.file else self.note


def documents() -> list[Path]:
    """Return the pages whose blocks count: all pages of the site, and that of the papers."""
    return [*pages.docs(), ROOT / "papers/README.md"]


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of a page in their order; an indented one has no language."""
    text = page.read_text(encoding="utf-8")
    lines = text.split("\n")
    name = str(page.relative_to(ROOT))
    found = []
    for token in pages.code_blocks(text):
        first = token.map[0] if token.map else 0
        note = _NOTE.fullmatch(lines[first - 1].strip()) if first else None
        found.append(Block(name, first + 1, token.info, token.content, note[1] if note else ""))
    return found


def run(page: Path, folder: Path, *, timeout_s: float, long: bool = False) -> str:
    """Run the blocks of a page in an empty folder, and return what they print; a block that fails is an error.

    `long`: also those that are marked so."""
    readers_files(folder)
    printed = []
    found = blocks(page)
    for block in found:
        if block.kind == "saved as FILE":
            (folder / block.file).write_text(block.text)
    for script in _scripts([block for block in found if block.language == "python" and not block.note]):
        (folder / "script.py").write_text(script)
        printed.append(_done([sys.executable, "script.py"], folder, timeout_s, page))
    for block in found:
        if block.language == "sh" and block.note in (("", "long") if long else ("",)):
            printed.append(run_shell(block, folder, timeout_s=timeout_s))
    return "".join(printed)


def run_shell(block: Block, folder: Path, *, timeout_s: float) -> str:
    """Run one shell block in a folder, and return what it prints; a line that fails is an error."""
    return _done(["bash", "-euc", block.text], folder, timeout_s, block)


def readers_files(folder: Path) -> None:
    """Write what pages take for granted that a reader has."""
    import numpy as np

    import hemiola as hm
    from job_records import killed_job

    switch = hm.topologies.switch(8, latency_s=50e-6, bandwidth=125e6)
    for name in ("cluster.yaml", "a.yaml", "b.yaml"):
        switch.save(folder / name)
    hm.topologies.torus([4, 4], latency_s=1e-6, bandwidth=25e9).save(folder / "torus.yaml")
    hm.topologies.dgx1(latency_s=1e-6, bandwidth=25e9).save(folder / "box.yaml")
    hm.algorithms.all_reduce_ring(8).save(folder / "mine.sched")
    np.save(folder / "gradients.npy", np.ones((8, 1 << 16), np.float32))
    killed_job(folder / "records")
    shutil.copy(ROOT / "tests/topology/data/h100_four.xml", folder / "dump.xml")
    (folder / "train.py").write_text("import hemiola as hm\n\nhm.init().barrier()\n")
    for name in ("examples", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)


def _scripts(found: list[Block]) -> list[str]:
    """Join Python blocks to scripts: one that imports hemiola begins its own."""
    scripts = [""]
    for block in found:
        if re.search(r"^import hemiola as hm$", block.text, re.M):
            scripts.append("")
        scripts[-1] += _guarded(block.text) + "\n"
    return [f"import hemiola as hm\n{script}" for script in scripts if script]


def _guarded(block: str) -> str:
    """Return a block of which ranks, which import the script, run functions and imports alone."""
    if "def " in block:
        return block
    imports = "\n".join(re.findall(r"^(?:import|from) .*", block, re.M))
    return f'{imports}\nif __name__ == "__main__":\n{textwrap.indent(block, "    ")}'


def _done(command: list[str], folder: Path, timeout_s: float, where: Path | Block) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        command,
        cwd=folder,
        env=os.environ
        | {
            "PATH": path,
            "MPLBACKEND": "Agg",
            "OMP_NUM_THREADS": "1",
            "XDG_CACHE_HOME": str(folder / "cache"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
    )
    if ended.returncode != 0 or "Traceback" in ended.stdout:
        raise AssertionError(f"{where} fails with exit code {ended.returncode}:\n{ended.stdout[-4000:]}")
    return ended.stdout


def pictures(page: Path) -> Iterator[Path]:
    """Yield the pictures that a page shows."""
    for target in pages.pictures(page.read_text(encoding="utf-8")):
        yield (page.parent / target).resolve()
