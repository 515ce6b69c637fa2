# SPDX-License-Identifier: Apache-2.0
"""ASTRA-sim's text workloads, version 1.0: a line of twelve columns for each layer [rashidi2020]."""

from __future__ import annotations

from pathlib import Path

from hemiola.topology.place import Place, quote
from hemiola.workload.model import Layer, Model
from hemiola.workload.task import Call

#: name, reserved, then seconds, kind and bytes of the forward pass and of both gradients, and the update's time.
_COLUMNS = 12
_KINDS = {
    "ALLREDUCE": "all_reduce",
    "ALLGATHER": "all_gather",
    "REDUCESCATTER": "reduce_scatter",
    "ALLTOALL": "all_to_all",
}
#: The classes of groups of the three phases; DATA exchanges gradients alone.
_GROUPS = ("tp", "tp", "dp")
_MOST_LAYERS = 100_000
#: A tick is a nanosecond.
_TICK_S = 1e-9
_MOST_TICKS = 10**15
_MOST_BYTES = 1 << 50


def is_astra_text(begin: str) -> bool:
    """Say whether a file that begins so is one of these."""
    lines = [line.split() for line in begin.splitlines()[:4] if line.strip()]
    return any(len(fields) == _COLUMNS and fields[3].upper() in {*_KINDS, "NONE"} for fields in lines)


def read_astra_text(path: Path) -> Model:
    """Read a workload.

    Parameters
    ----------
    path : Path.

    Returns
    -------
    Model, split already: activations go over the class "tp", gradients over "dp".

    Raises
    ------
    FormatError
        A line has another number of columns, or a column is none; the message names file and line.
    OSError
        The file cannot be read.
    """
    layers: list[Layer] = []
    promised: tuple[int, int] | None = None
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            fields, where = line.split(), Place(f"'{path}'", number)
            if not fields or (number == 1 and len(fields) < _COLUMNS):
                continue  # the name of the parallelism, which the columns say, too
            if len(fields) == 1 and not layers:
                promised = _whole(fields[0], where, "number of layers", _MOST_LAYERS), number
                continue
            if len(fields) != _COLUMNS:
                where.fail(f"expected {_COLUMNS} columns of a layer, found {len(fields)}")
            if len(layers) == _MOST_LAYERS:
                where.fail(f"expected at most {_MOST_LAYERS:,} layers, found more")
            layers.append(_layer(fields, where))
    whole = Place(f"'{path}'")
    if not layers:
        whole.fail("expected a line of twelve columns for each layer, found none")
    if promised is not None and promised[0] != len(layers):
        Place(f"'{path}'", promised[1]).fail(
            f"expected the {promised[0]:,} layers that this line promises, found {len(layers):,}; the file "
            "may be cut off"
        )
    return Model(
        path.stem,
        tuple(layers),
        True,
        (f"'{path.name}' has times in nanoseconds, as ASTRA-sim 1.0 reads them.",),
    )


def _layer(fields: list[str], where: Place) -> Layer:
    forward_s, input_s, weight_s = (
        _whole(fields[place], where, "time", _MOST_TICKS) * _TICK_S for place in (2, 5, 8)
    )
    forward, of_input, weight = (
        _calls(fields[place], fields[place + 1], group, where)
        for place, group in zip((3, 6, 9), _GROUPS, strict=True)
    )
    return Layer(fields[0], forward_s, input_s, weight_s, forward=forward, input=of_input, weight=weight)


def _calls(kind: str, size: str, group: str, where: Place) -> tuple[Call, ...]:
    nbytes = _whole(size, where, "size", _MOST_BYTES)
    if kind.upper() == "NONE" or nbytes == 0:
        return ()
    if kind.upper() not in _KINDS:
        where.fail(f"expected a collective out of {', '.join(_KINDS)} or NONE, found {quote(kind)}")
    return (Call(_KINDS[kind.upper()], nbytes, group),)


def _whole(text: str, where: Place, what: str, most: int) -> int:
    if not text.isdigit() or int(text) > most:
        where.fail(f"expected a {what} from 0 to {most:,}, found {quote(text)}")
    return int(text)
