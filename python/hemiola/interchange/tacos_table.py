# SPDX-License-Identifier: Apache-2.0
"""TACOS's table of an all-gather (versions 1.1.0 and 1.1.1): for each link the chunks that it carries, in order.

The table has no times. In each round, which becomes a step, every link carries its next chunk where its source has it
already. Chunk c belongs to NPU c mod the count of NPUs."""

from __future__ import annotations

from collections import defaultdict

from hemiola._core import Collective, Schedule
from hemiola.interchange.artefact import Artefact
from hemiola.topology.place import Place, quote

FORM = "TACOS table"
_HEADER = "SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks"
_MOST = 1 << 20
_MOST_MOVES = 1 << 22


def is_table(text: str) -> bool:
    """Return whether a text is a table of TACOS."""
    return text.startswith("NPUs Count,")


def read(text: str, source: str) -> Artefact:
    """Read a table; raise FormatError that names the line where it is malformed, or the link that stands still."""
    lines = [line.strip() for line in text.splitlines()]
    npus = _count(lines, 0, "NPUs Count", source)
    links = _count(lines, 1, "Links Count", source)
    chunks = _count(lines, 2, "Chunks Count", source)
    if npus * chunks > _MOST_MOVES:
        Place(source, 3).fail(
            f"expected at most {_MOST_MOVES} chunks on all NPUs together, found {npus * chunks}"
        )
    if chunks % npus:
        Place(source, 3).fail(
            f"expected a multiple of the {npus} NPUs, found {chunks} chunks: only all-gathers are read"
        )
    if len(lines) < 5 or lines[4] != _HEADER:
        Place(source, 5).fail(f"expected {quote(_HEADER)}")
    queues: dict[tuple[int, int], list[int]] = {}
    place: dict[tuple[int, int], Place] = {}
    for number, line in enumerate(lines[5:], 6):
        if line:
            here = Place(source, number)
            link, queue = _link(line.split(","), npus, chunks, here)
            if link in queues:
                here.fail(f"link {link[0]} to {link[1]} stands in line {place[link].line}, too")
            queues[link], place[link] = queue, here
    if len(queues) != links:
        Place(source).fail(
            f"expected {links} links, as 'Links Count' says, found {len(queues)}; is the file cut short?"
        )
    rows = _rounds(queues, npus, chunks, place)
    owners = [chunk % npus for chunk in range(chunks)]
    schedule = Schedule.from_transfers(Collective.with_owners("all_gather", npus, owners), rows)
    return Artefact(FORM, schedule, (), Place(source))


def _count(lines: list[str], index: int, name: str, source: str) -> int:
    fields = lines[index].split(",") if index < len(lines) else [""]
    place = Place(source, index + 1)
    if fields[0] != name or len(fields) != 2:
        place.fail(f"expected {quote(name)} and a number")
    return _number(fields[1], name, 1, _MOST, place)


def _number(text: str, name: str, least: int, most: int, place: Place) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        place.fail(f"expected {name} as a whole number from {least} to {most}, found {quote(text)}")
    return int(text)


def _link(fields: list[str], npus: int, chunks: int, place: Place) -> tuple[tuple[int, int], list[int]]:
    if len(fields) < 5:
        place.fail("expected source, destination, latency, bandwidth and chunks, or None")
    src = _number(fields[0], "SrcID", 0, npus - 1, place)
    dst = _number(fields[1], "DestID", 0, npus - 1, place)
    if src == dst:
        place.fail(f"NPU {src} has a link to itself")
    carried = [] if fields[4:] == ["None"] else fields[4:]
    return (src, dst), [_number(chunk, "a chunk", 0, chunks - 1, place) for chunk in carried]


def _rounds(
    queues: dict[tuple[int, int], list[int]], npus: int, chunks: int, place: dict[tuple[int, int], Place]
) -> list[tuple[int, int, int, int]]:
    """Return (step, src, dst, chunk) of every move; raise FormatError where a link waits for ever."""
    has = [set(range(npu, chunks, npus)) for npu in range(npus)]
    left = {link: list(reversed(queue)) for link, queue in queues.items() if queue}
    waiting: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)  # links by NPU and chunk
    rows: list[tuple[int, int, int, int]] = []
    step, ready = 0, list(left)
    while ready:
        moves = [(src, dst, left[src, dst][-1]) for src, dst in ready if left[src, dst][-1] in has[src]]
        for src, dst in ready:
            if left[src, dst][-1] not in has[src]:
                waiting[src, left[src, dst][-1]].append((src, dst))
        if len(rows) + len(moves) > _MOST_MOVES:
            place[moves[0][:2]].fail(f"expected at most {_MOST_MOVES} chunks on all links together")
        ready = []
        for src, dst, chunk in moves:
            rows.append((step, src, dst, chunk))
            has[dst].add(chunk)
            ready += waiting.pop((dst, chunk), ())
            left[src, dst].pop()
            if left[src, dst]:
                ready.append((src, dst))
        step += 1
    for (src, dst), queue in left.items():
        if queue:
            place[src, dst].fail(
                f"link {src} to {dst} waits for chunk {queue[-1]}, which NPU {src} never has"
            )
    return rows
