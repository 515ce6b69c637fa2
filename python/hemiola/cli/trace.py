# SPDX-License-Identifier: Apache-2.0
"""`hemiola trace`: the records of operations that PyTorch's ranks have written, as one trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from hemiola.cli import options
from hemiola.cli.output import answer, counted, printable
from hemiola.cli.values import read_output
from hemiola.diagnosis.recorded_trace import save_trace


def trace(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where ranks have written hemiola-RANK.json.")
    ],
    path: Annotated[
        Path, typer.Argument(metavar="FILE", parser=options.reads(read_output), help="The trace to write.")
    ],
    as_json: options.Json = False,
) -> None:
    """Merge the latest operations that PyTorch's ranks have recorded into one trace for Perfetto.

    Ranks write where HEMIOLA_RECORD says, when an operation fails or its time is over and on SIGUSR2, or where
    hemiola.torch.save_records is told. Each rank is a process of the trace, each of its groups a thread; times are
    those of the hosts' clocks. Needs no PyTorch.

    Example: hemiola trace records trace.json
    """
    count = save_trace(folder, path)
    data = {"folder": printable(str(folder)), "operation_count": count, "file": printable(str(path))}
    answer(as_json, data, Text(f"{counted(count, 'operation')} in {printable(str(path))}"))
