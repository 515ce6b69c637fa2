# SPDX-License-Identifier: Apache-2.0
"""`hemiola accelerate`: compiles the part that makes groups of PyTorch faster, for the installed PyTorch."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from hemiola.cli import options
from hemiola.cli.output import answer, printable
from hemiola.environment.packages import optional


def accelerate(
    folder: Annotated[
        Path | None,
        typer.Option("--into", metavar="FOLDER", help="Where to put it, such as into a wheel that is built."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compile a direct path from PyTorch's groups to the engine, without Python in between.

    Once per host, user and PyTorch; half a minute, with a C++ compiler. Groups that begin later use it; ranks that do
    without work with those that do not. HEMIOLA_TORCH_ACCELERATOR says otherwise.

    Example: hemiola accelerate
    """
    torch = optional("torch")

    from hemiola.torch.accelerator import compile_for_torch

    begin = time.monotonic()
    with Console(stderr=True).status(f"compiling for PyTorch {torch.__version__}"):
        path = compile_for_torch(folder)
    found = {"file": printable(str(path)), "torch": torch.__version__, "seconds": time.monotonic() - begin}
    answer(as_json, found, Text(f"{found['file']}, for PyTorch {torch.__version__}"))
