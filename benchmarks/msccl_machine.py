# SPDX-License-Identifier: Apache-2.0
"""A machine that runs an MSCCL XML on numbers, its thread blocks in a random order.

It shares nothing with the package: its own reader, memory that holds numbers, and connections that are queues."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree
from collections import defaultdict, deque
from typing import Any

import numpy as np

#: Elements of a chunk.
_WIDTH = 3


class Stops(Exception):
    """No thread block can go on, or one leaves its memory."""


class Machine:
    """All GPUs' memory: input, output and scratch, as arrays of chunks."""

    def __init__(self, text: str, seed: int) -> None:
        self.algorithm = ElementTree.fromstring(text)
        head = self.algorithm.attrib
        self.ranks, self.chunks = int(head["ngpus"]), int(head["nchunksperloop"])
        self.collective, self.in_place = head["coll"], head["inplace"] == "1"
        self.random = random.Random(seed)
        numbers = np.random.default_rng(seed)
        per = self.chunks // self.ranks
        size = per if self.collective == "allgather" else self.chunks
        self.inputs = [numbers.integers(1, 1 << 40, (size, _WIDTH)).astype(float) for _ in range(self.ranks)]
        self.memory = {}
        for gpu in self.algorithm.iter("gpu"):
            rank = int(gpu.attrib["id"])
            self.memory.update(self._buffers(rank, int(gpu.attrib["s_chunks"]), per))
        self.queues: dict[tuple[int, int, int], deque[Any]] = defaultdict(deque)
        self.over: dict[tuple[int, int], int] = defaultdict(lambda: -1)

    def _buffers(self, rank: int, scratch: int, per: int) -> dict[tuple[int, str], Any]:
        given = self.inputs[rank].copy()
        nothing = np.full((self.chunks, _WIDTH), np.nan)
        source, target = given, nothing
        if self.in_place and self.collective == "allgather":
            nothing[rank * per : (rank + 1) * per] = given
            source = nothing[rank * per : (rank + 1) * per]
        elif self.collective == "reducescatter":
            target = given[rank * per : (rank + 1) * per] if self.in_place else nothing[:per]
        elif self.in_place:
            target = given
        return {
            (rank, "i"): source,
            (rank, "o"): target,
            (rank, "s"): np.full((scratch, _WIDTH), np.nan),
        }

    def run(self) -> bool:
        """Run all thread blocks; return whether the outputs are right."""
        live = {
            (int(gpu.attrib["id"]), int(block.attrib["id"])): self._steps(int(gpu.attrib["id"]), block)
            for gpu in self.algorithm.iter("gpu")
            for block in gpu.iter("tb")
        }
        idle = 0
        while live:
            key = self.random.choice(list(live))
            try:
                idle = 0 if next(live[key]) else idle + 1
            except StopIteration:
                del live[key]
                idle = 0
            if idle > 200 * len(live) + 200:
                raise Stops
        return all(np.array_equal(self.memory[rank, "o"], self._expected(rank)) for rank in range(self.ranks))

    def _steps(self, rank: int, block: ElementTree.Element) -> Any:
        """Yield True after each step, and False as long as one must wait."""
        number = int(block.attrib["id"])
        peer_in, peer_out = int(block.attrib["recv"]), int(block.attrib["send"])
        channel = int(block.attrib["chan"])
        for index, step in enumerate(block.iter("step")):
            field = step.attrib
            while int(field["depid"]) >= 0 and self.over[rank, int(field["depid"])] < int(field["deps"]):
                yield False
            arrived = None
            if field["type"] in ("r", "rcs", "rrc", "rrs", "rrcs"):
                queue = self.queues[peer_in, rank, channel]
                while not queue:
                    yield False
                arrived = queue.popleft()
            sent = self._act(rank, field, arrived)
            if field["type"] in ("s", "rcs", "rrs", "rrcs"):
                self.queues[rank, peer_out, channel].append(sent.copy())
            self.over[rank, number] = index
            yield True

    def _act(self, rank: int, field: dict[str, str], arrived: Any) -> Any:
        kind, count = field["type"], int(field["cnt"])
        if kind == "nop":
            return None
        source = self.memory[rank, field["srcbuf"]][int(field["srcoff"]) :][:count]
        target = self.memory[rank, field["dstbuf"]][int(field["dstoff"]) :][:count]
        reads, writes = kind not in ("r", "rcs"), kind not in ("s", "rrs")
        if (reads and len(source) < count) or (writes and len(target) < count):
            raise Stops
        if kind == "s":
            return source
        if kind == "rrs":
            return source + arrived
        if kind in ("r", "rcs"):
            target[:] = arrived
        elif kind in ("rrc", "rrcs"):
            target[:] = source + arrived
        elif kind == "cpy":
            target[:] = source
        else:
            target[:] = target + source
        return target

    def _expected(self, rank: int) -> Any:
        per = self.chunks // self.ranks
        part = slice(rank * per, (rank + 1) * per)
        if self.collective == "allreduce":
            return np.sum(self.inputs, axis=0)
        if self.collective == "reducescatter":
            return np.sum(self.inputs, axis=0)[part]
        if self.collective == "allgather":
            return np.concatenate(self.inputs)
        return np.concatenate([one[part] for one in self.inputs])


def verdict(text: str, runs: int = 6) -> bool:
    """Return whether a program is right in every one of some runs of random order."""
    for seed in range(runs):
        try:
            if not Machine(text, seed).run():
                return False
        except Stops:
            return False
    return True
