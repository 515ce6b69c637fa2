# SPDX-License-Identifier: Apache-2.0
"""A MSCCL++ execution plan, read from its JSON with every reference resolved.

`read` follows the loader of MSCCL++ v0.10.0 (src/core/executor/execution_plan.cc, execution_common.hpp): indices of
channels and remote buffers count in the thread block's own lists, and the k-th channel from one rank to another is the
partner of the k-th back. The loader does not check its fixed arrays. This reader does, and refuses a plan that
overflows them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from hemiola.errors import FormatError

#: The release whose executor and limits count here.
RELEASE = "v0.10.0"
#: Operations of a thread block, channels and remote buffers of one, channels of an operation, operands of one.
MOST_OPERATIONS, MOST_CHANNELS, MOST_CHANNELS_AT_ONCE, MOST_OPERANDS, MOST_SEMAPHORES = 64, 16, 8, 10, 16


@dataclass(frozen=True)
class Meaning:
    """An operation's use of its operands.

    `sums`: one sum of all sources goes to all destinations; else each source moves to its destination. `awaits`: the
    first source that must have come as packets. `marks`: the first destination that becomes packets.
    """

    sums: bool = False
    awaits: int | None = None
    marks: int | None = None
    signals: bool = False


#: The operations that touch data.
MEANINGS = {
    "put": Meaning(),
    "pws": Meaning(signals=True),
    "pwsf": Meaning(signals=True),
    "get": Meaning(),
    "copy": Meaning(),
    "re": Meaning(sums=True),
    "res": Meaning(sums=True),
    "rre": Meaning(sums=True),
    "rres": Meaning(sums=True),
    "ppkt": Meaning(marks=0),
    "cpkt": Meaning(marks=0),
    "rppkt": Meaning(awaits=0, marks=0),
    "upkt": Meaning(awaits=0),
    "repkt": Meaning(sums=True, awaits=1, marks=1),
    "respkt": Meaning(sums=True, awaits=1, marks=1),
    "recpkt": Meaning(sums=True, awaits=1, marks=1),
    "recspkt": Meaning(sums=True, awaits=1, marks=1),
}
SIGNALS, WAITS = ("signal", "rlxsignal"), ("wait", "rlxwait")
_SYNCHRONIZES = ("nop", "flush", "barrier", "sem_acquire", "sem_release", *SIGNALS, *WAITS)
_OF_SWITCHES = ("glres", "gstore", "gstorepkt")


@dataclass(frozen=True, slots=True)
class Span:
    """Chunks `index` … `index + size - 1` of a rank's input ('i'), output ('o') or scratch ('s').

    Where a plan works in place, 'i' and 'o' are one buffer, and spans name the larger of the two.
    """

    rank: int
    buffer: str
    index: int
    size: int


@dataclass(frozen=True)
class Channel:
    """One end of a channel: its number among the rank's channels of that type, and the other end's rank and number."""

    rank: int
    kind: str
    number: int
    peer: int
    partner: int

    @property
    def end(self) -> tuple[int, str, int]:
        return self.rank, self.kind, self.number

    @property
    def other_end(self) -> tuple[int, str, int]:
        return self.peer, self.kind, self.partner


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation with its operands; `part` of `parts` where several thread blocks share it."""

    name: str
    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()
    channels: tuple[Channel, ...] = ()
    semaphores: tuple[int, ...] = ()
    barrier: tuple[int, int] = (0, 0)  #: its number, and how many thread blocks meet there
    part: int = 0
    parts: int = 1


@dataclass(frozen=True)
class Block:
    """A thread block: the work of one group of GPU threads, one operation after the other."""

    rank: int
    number: int
    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class ExecutionPlan:
    """A plan of all ranks. Sizes count chunks; `semaphores` has their initial values per rank."""

    name: str
    collective: str
    in_place: bool
    input_chunks: tuple[int, ...]
    output_chunks: tuple[int, ...]
    scratch_chunks: tuple[int, ...]
    blocks: tuple[Block, ...]
    semaphores: tuple[tuple[int, ...], ...]
    parts: int = field(default=1)  #: the least common multiple of the numbers of blocks that share operations

    @property
    def rank_count(self) -> int:
        return len(self.input_chunks)

    def sizes(self, rank: int) -> dict[str, int]:
        """Return how many chunks each of a rank's buffers has; without the one that lies in another."""
        sizes = {"i": self.input_chunks[rank], "o": self.output_chunks[rank], "s": self.scratch_chunks[rank]}
        if self.in_place:
            sizes.pop("i" if self.collective == "allgather" else "o")
        return sizes


def read(data: Mapping[str, Any], source: str = "the plan") -> ExecutionPlan:
    """Resolve a plan's JSON document.

    Parameters
    ----------
    data : as `json.load` returns it.
    source : the plan's name in errors.

    Returns
    -------
    ExecutionPlan

    Raises
    ------
    FormatError
        If a key is missing, an index leads nowhere, an operation is unknown or needs a switch (`glres`, `gstore`,
        `gstorepkt`), a channel has no partner, or a fixed array of the executor is too small. The error names rank,
        thread block and operation.
    """
    try:
        return _Reader(data, source).plan()
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        what = f"the key {error}" if isinstance(error, KeyError) else f"its form ({error})"
        raise FormatError(
            f"{source}: expected a MSCCL++ plan of {RELEASE}, found none: {what} is wrong"
        ) from None


class _Reader:
    def __init__(self, data: Mapping[str, Any], source: str) -> None:
        self._data, self._source = data, source
        self._gpus: Sequence[Mapping[str, Any]] = data["gpus"]
        self._where = ""
        self._in_place = bool(data["inplace"])
        for rank, gpu in enumerate(self._gpus):
            if gpu["id"] != rank:
                self._fail(f"expected GPU {rank} at place {rank}, found GPU {gpu['id']}")
        self._connected = [self._connections(gpu) for gpu in self._gpus]

    def plan(self) -> ExecutionPlan:
        blocks = tuple(self._block(gpu, block) for gpu in self._gpus for block in gpu["threadblocks"])
        parts = (each.parts for block in blocks for each in block.operations)
        return ExecutionPlan(
            name=str(self._data["name"]),
            collective=str(self._data["collective"]),
            in_place=self._in_place,
            input_chunks=tuple(int(gpu["input_chunks"]) for gpu in self._gpus),
            output_chunks=tuple(int(gpu["output_chunks"]) for gpu in self._gpus),
            scratch_chunks=tuple(int(gpu["scratch_chunks"]) for gpu in self._gpus),
            blocks=blocks,
            semaphores=tuple(
                tuple(int(each["init_value"]) for each in gpu.get("semaphores", ())) for gpu in self._gpus
            ),
            parts=math.lcm(*parts),
        )

    def _fail(self, message: str) -> NoReturn:
        place = f"{self._source}, {self._where}" if self._where else self._source
        raise FormatError(f"{place}: {message}")

    def _connections(self, gpu: Mapping[str, Any]) -> dict[str, list[int]]:
        """Return the peers of a rank's channels, by type and number."""
        found: dict[str, list[int]] = {}
        for group in gpu["channels"]:
            if group["channel_type"] == "switch":
                self._where = f"rank {gpu['id']}"
                self._fail("expected channels of memory or port, found a switch's, which is not emulated")
            found.setdefault(group["channel_type"], []).extend(int(peer) for peer in group["connected_to"])
        return found

    def _block(self, gpu: Mapping[str, Any], block: Mapping[str, Any]) -> Block:
        rank, number = int(gpu["id"]), int(block["id"])
        flat: list[Mapping[str, Any]] = []
        for each in block["ops"]:
            flat.extend(each["ops"] if each["name"] == "pipeline" else [each])
        self._where = f"rank {rank}, thread block {number}"
        count = len(flat) + sum(each["name"] == "pipeline" for each in block["ops"])
        self._limit(count, MOST_OPERATIONS, "operations")
        channels, buffers = (
            _lists(block, "channels", "channel_type", "channel_ids"),
            _lists(block, "remote_buffer_refs", "access_channel_type", "remote_buffer_ids"),
        )
        for listed, what in ((channels, "channels"), (buffers, "remote buffers")):
            for ids in listed.values():
                self._limit(len(ids), MOST_CHANNELS, what)
        operations = []
        for place, each in enumerate(flat):
            self._where = f"rank {rank}, thread block {number}, operation {place}"
            operations.append(self._operation(gpu, each, channels, buffers))
        return Block(rank, number, tuple(operations))

    def _limit(self, found: int, most: int, what: str) -> None:
        if found > most:
            self._fail(f"expected at most {most} {what}, as {RELEASE} has room for, found {found}")

    def _operation(
        self,
        gpu: Mapping[str, Any],
        data: Mapping[str, Any],
        channels: Mapping[str, list[int]],
        buffers: Mapping[str, list[int]],
    ) -> Operation:
        name, kind = str(data["name"]), str(data.get("channel_type", ""))
        if name in _OF_SWITCHES:
            self._fail(f"'{name}' needs a switch that reduces or multicasts, which is not emulated")
        if name not in MEANINGS and name not in _SYNCHRONIZES:
            self._fail(f"unknown operation '{name[:40]}'")
        group = data.get("tbg_info", {"tb_id": 0, "tbg_size": 1})
        numbers = data.get("channel_ids", ())
        semaphores = tuple(int(each) for each in data.get("semaphore_ids", ()))
        self._limit(len(numbers), MOST_CHANNELS_AT_ONCE, "channels of one operation")
        self._limit(len(semaphores), MOST_SEMAPHORES, "semaphores of one operation")
        for each in semaphores:
            self._within(each, len(gpu.get("semaphores", ())), "semaphore")
        return Operation(
            name,
            reads=self._spans(gpu, data.get("src_buff", ()), buffers.get(kind, [])),
            writes=self._spans(gpu, data.get("dst_buff", ()), buffers.get(kind, [])),
            channels=tuple(
                self._channel(int(gpu["id"]), kind, each, channels.get(kind, [])) for each in numbers
            ),
            semaphores=semaphores,
            barrier=(int(data.get("barrier_id", 0)), int(data.get("num_threadblocks", 0))),
            part=int(group["tb_id"]),
            parts=int(group["tbg_size"]),
        )

    def _within(self, index: int, count: int, what: str) -> None:
        if not 0 <= index < count:
            self._fail(f"expected a {what} below {count}, found {index}")

    def _channel(self, rank: int, kind: str, place: int, ids: Sequence[int]) -> Channel:
        self._within(place, len(ids), f"{kind} channel of the thread block")
        number, own = ids[place], self._connected[rank].get(kind, [])
        self._within(number, len(own), f"{kind} channel")
        peer, turn = own[number], Counter(own[:number])[own[number]]
        self._within(peer, len(self._gpus), "rank")
        back = [k for k, other in enumerate(self._connected[peer].get(kind, [])) if other == rank]
        if turn >= len(back):
            self._fail(f"{kind} channel {number} to rank {peer} has no partner there")
        return Channel(rank, kind, number, peer, back[turn])

    def _spans(
        self, gpu: Mapping[str, Any], operands: Sequence[Mapping[str, Any]], buffers: Sequence[int]
    ) -> tuple[Span, ...]:
        self._limit(len(operands), MOST_OPERANDS, "operands")
        return tuple(self._span(gpu, each, buffers) for each in operands)

    def _span(self, gpu: Mapping[str, Any], operand: Mapping[str, Any], buffers: Sequence[int]) -> Span:
        rank, buffer = int(gpu["id"]), str(operand.get("type", ""))
        if "switch_channel_id" in operand:
            self._fail("an operand lies behind a switch, which is not emulated")
        if "buffer_id" in operand:
            place = int(operand["buffer_id"])
            self._within(place, len(buffers), "remote buffer of the thread block")
            self._within(buffers[place], len(gpu["remote_buffers"]), "remote buffer")
            remote = gpu["remote_buffers"][buffers[place]]
            rank, buffer = int(remote["rank"]), str(remote["type"])
            self._within(rank, len(self._gpus), "rank")
        index, size, owner = int(operand["index"]), int(operand["size"]), self._gpus[rank]
        key = {"i": "input_chunks", "o": "output_chunks", "s": "scratch_chunks"}.get(buffer[:1])
        if key is None:
            self._fail(f"expected the buffer 'i', 'o' or 's', found '{buffer[:20]}'")
        if index < 0 or size < 1 or index + size > owner[key]:
            end = index + size - 1
            self._fail(
                f"expected chunks below {owner[key]} of rank {rank}'s '{buffer}', found {index} … {end}"
            )
        return self._in_storage(rank, buffer[0], index, size)

    def _in_storage(self, rank: int, buffer: str, index: int, size: int) -> Span:
        """Name a span by the buffer in which it lies: in place, the smaller of two buffers is a part of the other."""
        if self._in_place and buffer in ("i", "o"):
            collective, gpu = self._data["collective"], self._gpus[rank]
            if collective == "allgather":
                index += rank * gpu["input_chunks"] if buffer == "i" else 0
                return Span(rank, "o", index, size)
            index += rank * gpu["output_chunks"] if buffer == "o" and collective == "reducescatter" else 0
            return Span(rank, "i", index, size)
        return Span(rank, buffer, index, size)


def _lists(block: Mapping[str, Any], key: str, kind: str, ids: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in block.get(key, ()):
        found.setdefault(each[kind], []).extend(int(number) for number in each[ids])
    return found
