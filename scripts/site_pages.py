# SPDX-License-Identifier: Apache-2.0
"""Copies the pages of the site, and all that they link to, where MkDocs reads them: `make docs`.

The copy has the repository's layout, so that links between pages stay as they are."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)")


def main(target: Path) -> None:
    """Write the pages to an empty folder."""
    shutil.rmtree(target, ignore_errors=True)
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    wanted = [
        Path(name)
        for name in tracked
        if name.startswith("docs/") or ("/" not in name and name.endswith(".md"))
    ]
    copied: set[Path] = set()
    while wanted:
        path = wanted.pop()
        if path in copied or not (ROOT / path).is_file():
            continue
        copied.add(path)
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target / path)
        if path.suffix == ".md":
            text = (ROOT / path).read_text()
            linked = [(ROOT / path.parent / link).resolve() for link in _LINK.findall(text)]
            wanted += [link.relative_to(ROOT) for link in linked if link.is_relative_to(ROOT)]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
