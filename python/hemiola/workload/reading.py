# SPDX-License-Identifier: Apache-2.0
"""A question's subject out of a text: the name of a model, or the path of a trace, whose form its content tells."""

from __future__ import annotations

import os
from pathlib import Path

from hemiola.errors import ArgumentError
from hemiola.topology.place import Place
from hemiola.workload import models
from hemiola.workload.model import Model
from hemiola.workload.readers.astra_text import is_astra_text, read_astra_text
from hemiola.workload.readers.chakra import is_chakra, read_chakra
from hemiola.workload.readers.pytorch import pairs_of, read_pytorch, read_pytorch_ranks
from hemiola.workload.task import Step

#: Characters that tell a file's form.
_LOOKED_AT = 1 << 14


def model_or_step(text: str | os.PathLike[str]) -> Model | Step:
    """Return a named model, or read a trace.

    Parameters
    ----------
    text : str or path: a model of `models.NAMES` with its parameters; a file of ASTRA-sim's text workloads; a Chakra
        trace of one rank; a trace of PyTorch's profiler, or a folder of those. An execution trace of the same process
        may stand beside a profiler's.

    Returns
    -------
    Model or Step

    Raises
    ------
    ArgumentError
        The text names neither a model nor a file.
    FormatError
        The file is of another form, or malformed; the message names file and place.
    OSError
        The file cannot be read.
    """
    if isinstance(text, str) and text.partition(":")[0] in models.NAMES:
        return models.named(text)
    path = Path(text)
    if path.is_dir():
        return _of_folder(path)
    if not path.exists():
        raise ArgumentError(
            f"whatif: expected a trace, or a model out of {', '.join(models.NAMES)}, found "
            f"'{str(path)[:200]}', which is neither"
        )
    return _of_file(path)


def _of_file(path: Path) -> Model | Step:
    with path.open("rb") as file:
        bytes_of_begin = file.read(_LOOKED_AT)
    if is_chakra(bytes_of_begin):
        return read_chakra(path)
    begin = bytes_of_begin.decode("utf-8", "replace")
    if begin.lstrip().startswith("{"):
        return _of_json(path)
    if is_astra_text(begin):
        return read_astra_text(path)
    Place(f"'{path}'").fail(
        "expected ASTRA-sim's text (twelve columns a layer), a Chakra trace, or a trace of PyTorch's "
        "profiler or ExecutionTraceObserver (JSON), found none of these"
    )


def _of_json(path: Path) -> Step:
    """Read one file of a pair, with the other one beside it."""
    for profile, execution in pairs_of(path.parent):
        if path in (profile, execution):
            return read_pytorch(profile, execution)
    Place(f"'{path}'").fail(
        "expected a trace of PyTorch's profiler, or an execution trace beside that of the same process, "
        "found no such pair"
    )


def _of_folder(path: Path) -> Step:
    pairs = list(pairs_of(path))
    if not pairs:
        Place(f"'{path}'").fail("expected traces of PyTorch's profiler (*.json) in this folder, found none")
    return read_pytorch_ranks([pair for pair in pairs if pair[1] is not None] or pairs)
