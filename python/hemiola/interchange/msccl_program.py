# SPDX-License-Identifier: Apache-2.0
"""MSCCL's XML as a program: thread blocks of steps, which send and receive chunks over connections.

The attributes are those that MSCCL's runtime and RCCL up to ROCm 7.2 read. An attribute of no consequence for the
outcome (protocol, sizes in bytes) is passed over."""

from __future__ import annotations

from dataclasses import dataclass

from hemiola.interchange.layout import KINDS, Layout
from hemiola.topology.place import Place, quote
from hemiola.topology.xml_tree import Element, parse

#: Places in all buffers together, and steps times their counts.
MOST_CELLS = 1 << 22
#: Thread blocks times steps: the judge of races notes a time of each block at each step.
_MOST_TIMES = 1 << 27
_MOST = 1 << 20

SENDS = frozenset({"s", "rcs", "rrcs", "rrs"})
RECEIVES = frozenset({"r", "rcs", "rrc", "rrcs", "rrs"})
ADDS = frozenset({"rrc", "rrcs", "rrs", "re"})
_TYPES = SENDS | RECEIVES | {"cpy", "re", "nop"}
#: The types that read their source, and those that write their target.
READS = frozenset({"s", "rrc", "rrcs", "rrs", "cpy", "re"})
WRITES = frozenset({"r", "rcs", "rrc", "rrcs", "cpy", "re"})


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a thread block.

    source, target : buffer and offset; those of a step that does not read or write count for nothing.
    waits_for : thread block and step of the same GPU that must be over, or None.
    """

    gpu: int
    block: int
    index: int
    type: str
    source: tuple[str, int]
    target: tuple[str, int]
    count: int
    waits_for: tuple[int, int] | None
    lets_wait: bool
    place: Place

    def __str__(self) -> str:
        return f"gpu {self.gpu}, tb {self.block}, step {self.index} ({self.type})"


@dataclass(frozen=True, slots=True)
class Block:
    """A thread block: the peers that it sends to and receives from (-1 for none), and the channel."""

    send: int
    recv: int
    channel: int


@dataclass(frozen=True)
class Program:
    """A file's content.

    modes : the layouts in which the file says that it runs: in place, out of place, or both.
    steps : of all thread blocks, in order.
    copies : cells of input and output that are equal before, by (rank, input offset, output offset).
    """

    modes: tuple[Layout, ...]
    blocks: dict[tuple[int, int], Block]
    steps: tuple[Step, ...]
    copies: tuple[tuple[int, int, int], ...]
    place: Place


def read_program(text: str, source: str) -> Program:
    """Read an MSCCL XML; raise FormatError that names file, line and node."""
    root = parse(text, source)
    if root.tag != "algo":
        root.place.fail(f"expected <algo>, which MSCCL's XML has, found <{quote(root.tag)[1:-1]}>")
    modes = _modes(root)
    gpus = _gpus(root, modes[0].rank_count)
    reader = _Reader(modes)
    for rank, gpu in sorted(gpus.items()):
        reader.read_gpu(rank, gpu)
    if len(reader.blocks) * len(reader.steps) > _MOST_TIMES:
        root.place.fail(
            f"expected at most {_MOST_TIMES} as the product of thread blocks and steps, found {len(reader.blocks)} and "
            f"{len(reader.steps)}"
        )
    return Program(modes, reader.blocks, tuple(reader.steps), tuple(reader.copies), Place(source))


def _modes(root: Element) -> tuple[Layout, ...]:
    """Return the layouts of the file's collective."""
    name = root.attributes.get("coll", "").strip()
    if name not in KINDS:
        root.place.fail(
            f"the collective is {quote(name)}; read are {', '.join(KINDS)}, because the file says what they promise"
        )
    ranks, total = _number(root, "ngpus", 1, _MOST), _number(root, "nchunksperloop", 1, _MOST)
    if KINDS[name] != "all_reduce" and total % ranks:
        root.place.fail(f"expected nchunksperloop as a multiple of the {ranks} GPUs, found {total}")
    if ranks * total > MOST_CELLS:
        root.place.fail(f"expected at most {MOST_CELLS} chunks on all GPUs together, found {ranks * total}")
    in_place = _flag(root, "inplace", default=False)
    apart = _flag(root, "outofplace", default=not in_place)
    if not in_place and not apart:
        root.place.fail("expected inplace or outofplace to be 1: the algorithm would never run")
    is_dealt = KINDS[name] == "all_gather" and root.attributes.get("name") == "tacos"
    modes = [True] * in_place + [False] * apart
    return tuple(Layout(KINDS[name], ranks, total, mode, is_dealt) for mode in modes)


def _gpus(root: Element, rank_count: int) -> dict[int, Element]:
    gpus: dict[int, Element] = {}
    for gpu in root.named("gpu"):
        rank = _number(gpu, "id", 0, rank_count - 1)
        if rank in gpus:
            gpu.place.fail(f"<gpu>: GPU {rank} stands in line {gpus[rank].place.line}, too")
        gpus[rank] = gpu
    if len(gpus) != rank_count:
        absent = next(rank for rank in range(rank_count) if rank not in gpus)
        root.place.fail(
            f"expected {rank_count} <gpu>, as ngpus says, found {len(gpus)}; GPU {absent} is missing"
        )
    return gpus


class _Reader:
    """Reads the GPUs' elements."""

    def __init__(self, modes: tuple[Layout, ...]) -> None:
        self._modes = modes
        self._moved = 0
        self.blocks: dict[tuple[int, int], Block] = {}
        self.steps: list[Step] = []
        self.copies: list[tuple[int, int, int]] = []

    def read_gpu(self, rank: int, gpu: Element) -> None:
        layout = self._modes[0]
        sizes = {"i": layout.input_size, "o": layout.output_size, "s": _number(gpu, "s_chunks", 0, _MOST)}
        for copy in gpu.named("copy"):
            offsets = _number(copy, "i_off", 0, sizes["i"] - 1), _number(copy, "o_off", 0, sizes["o"] - 1)
            self.copies.append((rank, *offsets))
        blocks = list(gpu.named("tb"))
        for block in blocks:
            index = _number(block, "id", 0, len(blocks) - 1)
            if (rank, index) in self.blocks:
                block.place.fail(f"<tb>: GPU {rank} has a thread block {index} already")
            self._read_block(rank, index, block, sizes)

    def _read_block(self, rank: int, index: int, element: Element, sizes: dict[str, int]) -> None:
        last = self._modes[0].rank_count - 1
        block = Block(
            _number(element, "send", -1, last),
            _number(element, "recv", -1, last),
            _number(element, "chan", -1, _MOST),
        )
        if rank in (block.send, block.recv):
            element.place.fail(f"<tb>: GPU {rank}, tb {index} is connected to its own GPU")
        self.blocks[rank, index] = block
        for position, step in enumerate(element.named("step")):
            if _number(step, "s", 0, _MOST) != position:
                step.place.fail(
                    f"<step>: expected s={quote(str(position))}: a thread block's steps are numbered from 0"
                )
            self._read_step(rank, index, position, step, block, sizes)

    def _read_step(
        self, rank: int, index: int, position: int, element: Element, block: Block, sizes: dict[str, int]
    ) -> None:
        kind = element.attributes.get("type", "")
        if kind not in _TYPES:
            element.place.fail(
                f"<step>: expected type as one of {', '.join(sorted(_TYPES))}, found {quote(kind)}"
            )
        count = _number(element, "cnt", 0, _MOST)
        source = _cells(element, "src", count if kind in READS else None, sizes)
        target = _cells(element, "dst", count if kind in WRITES else None, sizes)
        for peer, types, name in ((block.send, SENDS, "send"), (block.recv, RECEIVES, "recv")):
            if kind in types and peer < 0:
                element.place.fail(f"<step>: type {quote(kind)} in a thread block with {name}='-1'")
        if kind in ADDS and not self._modes[0].adds:
            element.place.fail(f"<step>: type {quote(kind)} adds, which {self._modes[0].kind} does not")
        before = _number(element, "depid", -1, _MOST)
        waits_for = (before, _number(element, "deps", 0, _MOST)) if before >= 0 else None
        self._moved += count
        if self._moved > MOST_CELLS:
            element.place.fail(f"expected steps that move at most {MOST_CELLS} chunks in all")
        lets_wait = _flag(element, "hasdep", default=True)
        self.steps.append(
            Step(rank, index, position, kind, source, target, count, waits_for, lets_wait, element.place)
        )


def _cells(element: Element, end: str, count: int | None, sizes: dict[str, int]) -> tuple[str, int]:
    """Return buffer and offset of one end of a step; count is None for an end that the step leaves alone."""
    buffer = element.attributes.get(f"{end}buf", "")
    if count is None:
        return buffer, 0
    if buffer not in sizes:
        element.place.fail(f"<step>: expected {end}buf as one of i, o, s, found {quote(buffer)}")
    offset = _number(element, f"{end}off", 0, _MOST)
    if offset + count > sizes[buffer]:
        element.place.fail(
            f"<step>: {end}off: {buffer}[{offset}] with cnt {count} ends beyond the buffer of {sizes[buffer]} chunks"
        )
    return buffer, offset


def _number(element: Element, attribute: str, least: int, most: int) -> int:
    text = element.attributes.get(attribute)
    if text is None:
        element.place.fail(f"<{element.tag}>: expected the attribute {quote(attribute)}")
    try:
        value = int(text) if len(text) < 20 and text.isascii() else least - 1
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        element.place.fail(
            f"<{element.tag}>: expected {quote(attribute)} as a whole number from {least} to {most}, "
            f"found {quote(text)}"
        )
    return value


def _flag(element: Element, attribute: str, *, default: bool) -> bool:
    text = element.attributes.get(attribute, str(int(default))).strip()
    if text not in ("0", "1", "True", "False"):
        element.place.fail(f"<{element.tag}>: expected {quote(attribute)} as 0 or 1, found {quote(text)}")
    return text in ("1", "True")
