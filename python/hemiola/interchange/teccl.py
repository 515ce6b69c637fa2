# SPDX-License-Identifier: Apache-2.0
"""TE-CCL's schedules: JSON of flows in epochs, for all-gathers and all-to-alls.

A flow of an all-gather is a chunk on a link. Those of an all-to-all split a chunk among several paths, each of which
carries a share of its volume: each share becomes a chunk of that weight. A link through switches is one transfer. The
epochs in which something starts are the steps."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hemiola._core import Collective, Schedule
from hemiola.interchange.artefact import Artefact
from hemiola.topology.place import Place, quote

FORM = "TE-CCL schedule"

_VIA = r"(?: via switches [0-9 >-]+)?"
_FLOW = re.compile(
    r"Chunk (\d{1,9}) from (\d{1,9}) traveled over (\d{1,9})->(\d{1,9}) in epoch (\d{1,9})" + _VIA, re.ASCII
)
_SHARE = re.compile(
    r"(\d{1,9})->(\d{1,9}) with volume (\d+\.?\d*(?:e-?\d+)?) in epoch (\d{1,9})" + _VIA, re.ASCII
)
_DEMAND = re.compile(
    r"Demand at (\d{1,9}) for chunk (\d{1,9}) from (\d{1,9}) met by epoch (\d{1,9})", re.ASCII
)
_FLOWS_KEY, _PATHS_KEY = re.compile(r"\d-Flows"), re.compile(r"\d-[Cc]hunk paths")

#: A volume of 1, as an integer weight; smaller shares than one part of it are none.
_WHOLE = 1_000_000
_MOST_CHUNKS = 1 << 22

#: (destination, chunk, source) as a demand names them, by TE-CCL's numbers of nodes.
_Demand = tuple[int, int, int]


def is_schedule(document: dict[str, Any]) -> bool:
    """Return whether a JSON object is a schedule of TE-CCL."""
    return _key(document, _FLOWS_KEY) is not None


def read(document: dict[str, Any], source: str) -> Artefact:
    """Read a schedule; raise FormatError that names the entry where it is malformed."""
    paths_key = _key(document, _PATHS_KEY)
    if paths_key is None:
        Place(source).fail(
            "expected 'Chunk paths', which say what is demanded; TE-CCL leaves them out in no mode"
        )
    paths = document[paths_key]
    if not isinstance(paths, dict) or not paths:
        Place(source, key=paths_key).fail("expected demands with their paths")
    demands = dict(_demands(paths, Place(source, key=paths_key)))
    ranks = {
        node: rank for rank, node in enumerate(sorted({node for at, _, by in demands for node in (at, by)}))
    }
    flows_key = _key(document, _FLOWS_KEY) or ""
    flows = document[flows_key]
    if not isinstance(flows, list) or not all(isinstance(flow, str) for flow in flows):
        Place(source, key=flows_key).fail("expected a list of texts")
    if any(" with volume " in flow for flow in flows):
        schedule = _AllToAll(demands, ranks, Place(source, key=paths_key)).schedule()
    else:
        schedule = _all_gather(demands, ranks, flows, Place(source, key=flows_key))
    return Artefact(FORM, schedule, (), Place(source))


def _key(document: dict[str, Any], pattern: re.Pattern[str]) -> str | None:
    return next((key for key in document if pattern.fullmatch(key)), None)


def _demands(paths: dict[str, Any], place: Place) -> Iterator[tuple[_Demand, Any]]:
    """Yield each demand and its paths."""
    for text, ways in paths.items():
        found = _DEMAND.fullmatch(text)
        if found is None:
            place.fail(f"expected 'Demand at D for chunk C from S met by epoch K', found {quote(text)}")
        at, chunk, by, _ = map(int, found.groups())
        yield (at, chunk, by), ways


def _all_gather(
    demands: dict[_Demand, Any], ranks: dict[int, int], flows: list[str], place: Place
) -> Schedule:
    """Return an all-gather's schedule: a transfer for each flow."""
    index = {chunk: place for place, chunk in enumerate(sorted({chunk for _, chunk, _ in demands}))}
    for at, chunk, by in ((at, chunk, by) for by in ranks for chunk in index for at in ranks if at != by):
        if (at, chunk, by) not in demands:
            place.fail(f"this is no all-gather: node {at} does not demand chunk {chunk} of node {by}")
    rows = []
    for flow in flows:
        found = _FLOW.fullmatch(flow)
        if found is None:
            place.fail(f"expected 'Chunk C from S traveled over I->J in epoch K', found {quote(flow)}")
        chunk, by, src, dst, epoch = map(int, found.groups())
        for node in (by, src, dst):
            if node not in ranks:
                place.fail(f"{quote(flow)}: node {node} demands nothing; expected one of {len(ranks)} ranks")
        if chunk not in index:
            place.fail(f"{quote(flow)}: nobody demands chunk {chunk}")
        rows.append((epoch, ranks[src], ranks[dst], ranks[by] * len(index) + index[chunk]))
    owners = [rank for rank in range(len(ranks)) for _ in index]
    return Schedule.from_transfers(
        Collective.with_owners("all_gather", len(ranks), owners), _in_steps([(*row, 0) for row in rows])
    )


def _in_steps(rows: Iterable[tuple[int, ...]]) -> Any:
    """Return rows with epochs as steps: those in which something starts, numbered from 0."""
    table = np.array(sorted(set(rows)), dtype=np.int64).reshape(-1, 5)
    table[:, 0] = np.unique(table[:, 0], return_inverse=True)[1]
    return table


class _AllToAll:
    """An all-to-all's demands as chunks: one for each path, with the weight of its share."""

    def __init__(self, demands: dict[_Demand, Any], ranks: dict[int, int], place: Place) -> None:
        self._ranks, self._place = ranks, place
        self._ways: dict[tuple[int, int], list[list[tuple[int, list[tuple[int, int, int]]]]]] = defaultdict(
            list
        )
        for at, chunk, by in sorted(demands):
            name = f"Demand at {at} for chunk {chunk} from {by}"
            self._ways[ranks[by], ranks[at]].append(self._shares(name, demands[at, chunk, by]))

    def schedule(self) -> Schedule:
        count = len(self._ranks)
        per_pair = max(map(len, self._ways.values()))
        per_chunk = max(len(shares) for chunks in self._ways.values() for shares in chunks)
        slots = per_pair * per_chunk
        if count * count * slots > _MOST_CHUNKS:
            self._place.fail(
                f"expected at most {_MOST_CHUNKS} shares of chunks, found {count * count * slots}"
            )
        weights = np.zeros((count, count, per_pair, per_chunk), dtype=np.int64)
        weights[..., 0] = _WHOLE
        rows = []
        for (src, dst), chunks in self._ways.items():
            if len(chunks) != per_pair:
                self._place.fail(
                    f"rank {src} has {len(chunks)} chunks for rank {dst}, others have {per_pair}"
                )
            for number, shares in enumerate(chunks):
                weights[src, dst, number] = _padded([weight for weight, _ in shares], per_chunk)
                for share in range(per_chunk):
                    chunk = ((src * count + dst) * per_pair + number) * per_chunk + share
                    _, hops = shares[min(share, len(shares) - 1)]
                    rows += [(epoch, one, other, chunk, 0) for epoch, one, other in hops]
        absent = count * (count - 1) - len(self._ways)
        if absent:
            self._place.fail(f"this is no all-to-all: {absent} pairs of ranks demand nothing of each other")
        divisor = int(np.gcd.reduce(weights.ravel()))
        collective = Collective.make("all_to_all", count, count * count * slots)
        return Schedule.from_transfers(collective, _in_steps(rows), (weights.ravel() // divisor).tolist())

    def _shares(self, name: str, ways: Any) -> list[tuple[int, list[tuple[int, int, int]]]]:
        """Return the paths of a demand: the weight of each, and its hops as (epoch, src, dst)."""
        if not isinstance(ways, list) or not ways:
            self._place.fail(f"{quote(name)}: expected a list of paths")
        shares = [self._share(name, way) for way in ways]
        if not math.isclose(sum(volume for volume, _ in shares), 1.0, abs_tol=1e-3):
            self._place.fail(
                f"{quote(name)}: expected paths of volume 1 in all, found {sum(v for v, _ in shares):g}"
            )
        weights = [round(volume * _WHOLE) for volume, _ in shares]
        largest = weights.index(max(weights))
        weights[largest] += _WHOLE - sum(weights)
        return [(weight, hops) for weight, (_, hops) in zip(weights, shares, strict=True)]

    def _share(self, name: str, way: Any) -> tuple[float, list[tuple[int, int, int]]]:
        hops, volumes = [], []
        for hop in way if isinstance(way, list) else [None]:
            text = hop[1] if isinstance(hop, list) and len(hop) == 2 else None
            found = _SHARE.fullmatch(text) if isinstance(text, str) else None
            if found is None:
                self._place.fail(
                    f"{quote(name)}: expected hops 'I->J with volume V in epoch K', found {quote(str(hop))}"
                )
            src, dst, volume, epoch = found.groups()
            if int(src) not in self._ranks or int(dst) not in self._ranks:
                self._place.fail(
                    f"{quote(name)}: {quote(found.group())} leads to a node that demands nothing"
                )
            hops.append((int(epoch), self._ranks[int(src)], self._ranks[int(dst)]))
            volumes.append(float(volume))
        if not volumes or max(volumes) - min(volumes) > 1e-6 or not 0 < volumes[0] <= 1.001:
            self._place.fail(f"{quote(name)}: expected hops of one volume above 0 and up to 1 on a path")
        return volumes[0], hops


def _padded(weights: list[int], length: int) -> list[int]:
    """Return weights with zeros for the shares that a chunk has not: they ride along its last path."""
    return weights + [0] * (length - len(weights))
