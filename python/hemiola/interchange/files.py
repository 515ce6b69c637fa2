# SPDX-License-Identifier: Apache-2.0
"""Which format a file has, told by its content."""

from __future__ import annotations

import os
import re
from typing import Any

from hemiola._core import Schedule
from hemiola.arguments import typed
from hemiola.errors import FormatError
from hemiola.interchange import json_text, msccl_xml, mscclpp_plan, tacos_table, teccl
from hemiola.interchange.artefact import Artefact
from hemiola.topology.place import Place, quote, text_of

MAX_BYTES = 1 << 25
#: The first bytes tell whether a file is one of another program: XML, JSON, or TACOS's table.
_FOREIGN = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*(?:<|\{|NPUs Count,)")
_LOOKED_AT = 1 << 12
_READ = "read are Hemiola's schedules, MSCCL's XML, MSCCL++'s plans, TE-CCL's schedules in JSON, and TACOS's tables"
#: Other JSON of this field by a key that only it has.
_JSON_KINDS = {
    "sccl_type": "an algorithm of SCCL or TACCL before 'ncclize'; convert it to MSCCL's XML with their tools",
    "InstanceParams": "an input of TE-CCL, not a schedule",
    "traceEvents": "a trace of Chrome or Kineto",
    "command": "an answer of a command of Hemiola with --json",
}


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as those of other programs do. Raise OSError where it cannot be read."""
    with open(path, "rb") as file:
        return _FOREIGN.match(file.read(_LOOKED_AT)) is not None


@typed
def read(path: str | os.PathLike[str]) -> Artefact:
    """Read a schedule that another program has written, and judge it by the file's own run.

    Parameters
    ----------
    path : str or os.PathLike, an MSCCL XML of any program (msccl-tools, RCCL, TE-CCL, TACOS), an execution plan of
        MSCCL++, a schedule of TE-CCL in JSON, or a table of TACOS.

    Returns
    -------
    Artefact with the format's name, the schedule and the run's faults.

    Raises
    ------
    FormatError
        If the file is of no such format, malformed, larger than 32 MiB, or its run cannot end: a circular wait, a
        message without partner, a read of a place that holds nothing. Names file, line and node.
    OSError
        If the file cannot be read.

    Notes
    -----
    Takes time and memory in proportion to the chunks that the steps move.
    """
    source = quote(os.fspath(path), most=4096)
    text = _text_of(path, source)
    if text.lstrip().startswith("<"):
        return msccl_xml.read(text, source)
    if tacos_table.is_table(text):
        return tacos_table.read(text, source)
    if not text.lstrip().startswith("{"):
        Place(source).fail(f"found none of the formats known; {_READ}")
    return _of_json(json_text.parse(text, source), source)


def _of_json(document: dict[str, Any], source: str) -> Artefact:
    if (found := _judged(document, source)) is not None:
        return found
    kind = next((kind for key, kind in _JSON_KINDS.items() if key in document), None)
    found_kind = "JSON of no format known" if kind is None else kind
    Place(source).fail(f"found {found_kind}; {_READ}")


def _judged(document: dict[str, Any], source: str) -> Artefact | None:
    """Return a schedule after its own run; None where the document is none."""
    if teccl.is_schedule(document):
        return teccl.read(document, source)
    return mscclpp_plan.read(document, source) if mscclpp_plan.is_plan(document) else None


def load_if_schedule(path: str | os.PathLike[str]) -> Schedule | None:
    """Return the schedule of a JSON file of another program, as `load` does; None where it is no such file."""
    source = quote(os.fspath(path), most=4096)
    try:
        document = json_text.parse(_text_of(path, source), source)
    except FormatError:
        return None
    found = _judged(document, source)
    return None if found is None else found.right()


@typed
def load(path: str | os.PathLike[str]) -> Schedule:
    """Return the schedule of another program's file, as `Schedule.load` does.

    Parameters
    ----------
    path : str or os.PathLike, as of `read`.

    Returns
    -------
    Schedule

    Raises
    ------
    FormatError
        As `read` does, and if the file's own run ends wrong.
    OSError
        If the file cannot be read.
    """
    return read(path).right()


def _text_of(path: str | os.PathLike[str], source: str) -> str:
    with open(path, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    return text_of(content, MAX_BYTES, source)
