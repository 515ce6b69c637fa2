# SPDX-License-Identifier: Apache-2.0
"""Run the demo and draw what it prints as docs/pictures/demo.svg, the picture of docs/README.md.

On a machine that is busy with other things, measured times lie above predicted ones:
take the picture on a quiet one."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 118


def main() -> int:
    """Return the demo's exit status."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    run = subprocess.run(
        [sys.executable, "-m", "hemiola.demo"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print("[bold]$ make demo[/bold]")
    for line in AnsiDecoder().decode(run.stdout):
        console.print(line)
    picture = ROOT / "docs" / "pictures" / "demo.svg"
    picture.parent.mkdir(parents=True, exist_ok=True)
    console.save_svg(str(picture), title="hemiola")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
