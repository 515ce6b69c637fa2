# SPDX-License-Identifier: Apache-2.0
"""Chakra's execution traces: a graph of computations and collectives of one rank [sridharan2023]."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from hemiola.topology.place import Place, quote
from hemiola.workload.readers.protobuf_wire import Fields, fields_of, messages_of, numbers
from hemiola.workload.task import Call, Program, Step

_COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = 4, 5, 6, 7
#: By Chakra's number.
_KINDS = {
    0: "all_reduce", 1: "reduce", 2: "all_gather", 3: "gather", 4: "scatter", 5: "broadcast", 6: "all_to_all",
    7: "reduce_scatter", 8: "reduce_scatter",
}  # fmt: skip
_VERSIONS = ("0.0.", "1.")
#: Nodes, at most: each becomes a task.
_MOST_NODES = 200_000
_MOST_NEEDS = 4_000_000
_BARRIER = 9


@dataclass(frozen=True)
class _Node:
    number: int
    name: str
    kind: int
    needs: tuple[int, ...]
    start_s: float
    seconds: float
    call: Call | None


def is_chakra(begin: bytes) -> bool:
    """Say whether a file that begins so may be one of these: a short message that begins with a version."""
    return (
        len(begin) > 4
        and begin[0] < 0x80
        and begin[1] == 0x0A
        and begin[3 : 3 + min(begin[2], 2)].strip(b"0123456789.") == b""
    )


def read_chakra(path: Path) -> Step:
    """Read one rank's trace.

    Parameters
    ----------
    path : Path of a file of protobuf messages: the metadata, then nodes.

    Returns
    -------
    Step. Nodes without computation or communication take no time; "comm_size" is one rank's buffer, and all ranks take
    part in each collective.

    Raises
    ------
    FormatError
        The file is cut off, of another version, too large, or its nodes wait for each other; the message names file
        and node or offset.
    OSError
        The file cannot be read.
    """
    nodes: dict[int, _Node] = {}
    needs = 0
    with path.open("rb") as file:
        for place, (offset, fields) in enumerate(messages_of(file, f"'{path}'")):
            where = Place(f"'{path}'", key=f"offset {offset}")
            if place == 0:
                _check_version(fields, where)
                continue
            if len(nodes) == _MOST_NODES:
                where.fail(f"expected at most {_MOST_NODES:,} nodes, found more; record fewer steps")
            node = _node(fields, where)
            if node.number in nodes:
                where.fail(f"expected each node once, found node {node.number} again")
            nodes[node.number] = node
            needs += len(node.needs)
            if needs > _MOST_NEEDS:
                where.fail(f"expected nodes that need at most {_MOST_NEEDS:,} others in all, found more")
    if not nodes:
        Place(f"'{path}'").fail("expected nodes behind the metadata, found none")
    return _step(path, nodes)


def _check_version(fields: Fields, where: Place) -> None:
    version = _text(fields, 1)
    if not version.startswith(_VERSIONS):
        where.fail(f"expected a Chakra trace of version 0.0.x or 1.x, found {quote(version)}")


def _node(fields: Fields, where: Place) -> _Node:
    told = {}
    for value in fields.get(10, ()):
        if isinstance(value, bytes):
            attribute = fields_of(value, where)
            told[_text(attribute, 1)] = next((attribute[key][0] for key in attribute if key > 2), 0)
    kind, number = _number(fields, 3), _number(fields, 1)
    if kind in (_SEND, _RECEIVE):
        where.fail(
            f"expected computations and collectives, found node {number}, a single message; traces of pipelines "
            "are not read"
        )
    call = None
    if kind == _COLLECTIVE and told.get("comm_type") != _BARRIER:
        of = told.get("comm_type", -1)
        if of not in _KINDS:
            where.fail(f"expected a comm_type from 0 to {_BARRIER}, found {of!r} in node {number}")
        size = told.get("comm_size", 0)
        call = Call(_KINDS[int(of)], int(size) if not isinstance(size, bytes) else 0, "world")
    needs = (*numbers(fields.get(4, []), where), *numbers(fields.get(5, []), where))
    seconds = _number(fields, 7) * 1e-6 if kind == _COMPUTE else 0.0
    return _Node(number, _text(fields, 2), kind, needs, _number(fields, 6) * 1e-6, seconds, call)


def _step(path: Path, nodes: dict[int, _Node]) -> Step:
    """Put the nodes in an order in which each comes behind what it needs, the earliest first."""
    waiting = {number: len(set(node.needs)) for number, node in nodes.items()}
    after: dict[int, list[int]] = {number: [] for number in nodes}
    for number, node in nodes.items():
        for need in set(node.needs):
            if need not in nodes:
                _fail(
                    path, node, f"expected the node {need} that it needs, found none; the file may be cut off"
                )
            after[need].append(number)
    ready = [(node.start_s, number) for number, node in nodes.items() if waiting[number] == 0]
    heapq.heapify(ready)
    program = Program()
    places: dict[int, int] = {}
    while ready:
        _, number = heapq.heappop(ready)
        node = nodes[number]
        needs = [places[need] for need in node.needs]
        if node.call is None:
            places[number] = program.compute("all ranks", node.seconds, needs, "compute")
        else:
            places[number] = program.call(["all ranks"], node.call, needs)
        for following in after[number]:
            waiting[following] -= 1
            if waiting[following] == 0:
                heapq.heappush(ready, (nodes[following].start_s, following))
    stuck = next((node for number, node in nodes.items() if number not in places), None)
    if stuck is not None:
        _fail(
            path,
            stuck,
            "expected nodes that do not wait for each other in a circle, found one that waits for itself",
        )
    told = ("The trace's rank stands for all ranks, and each of its collectives is one of all ranks.",)
    return Step(path.stem, tuple(program.tasks), ("all ranks",), told)


def _fail(path: Path, node: _Node, message: str) -> NoReturn:
    Place(f"'{path}'", key=f"node {node.number}").fail(message)


def _text(fields: Fields, number: int) -> str:
    value = fields.get(number, [b""])[0]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _number(fields: Fields, number: int) -> int:
    value = fields.get(number, [0])[0]
    return 0 if isinstance(value, bytes) else int(value)
