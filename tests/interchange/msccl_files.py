# SPDX-License-Identifier: Apache-2.0
"""Small MSCCL programs, written here: each GPU's thread blocks as lists of steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class Block:
    """A thread block: whom it sends to, receives from, and its steps."""

    send: int = -1
    recv: int = -1
    channel: int = 0
    steps: list[dict[str, object]] = field(default_factory=list)

    def do(
        self,
        kind: str,
        source: tuple[str, int] = ("i", 0),
        target: tuple[str, int] | None = None,
        count: int = 1,
        after: tuple[int, int] = (-1, -1),
    ) -> Block:
        """Append a step, which by default writes where it reads."""
        target = source if target is None else target
        self.steps.append(
            {
                "s": len(self.steps),
                "type": kind,
                "srcbuf": source[0],
                "srcoff": source[1],
                "dstbuf": target[0],
                "dstoff": target[1],
                "cnt": count,
                "depid": after[0],
                "deps": after[1],
                "hasdep": 1,
            }
        )
        return self


def attributes(pairs: Iterable[tuple[str, object]]) -> str:
    return " ".join(f'{name}="{value}"' for name, value in pairs)


def xml(
    collective: str,
    chunks: int,
    gpus: Sequence[Sequence[Block]],
    *,
    scratch: int = 0,
    in_place: bool = True,
    apart: bool | None = None,
    name: str = "test",
) -> str:
    """Write a program as MSCCL's XML has it."""
    head = {
        "name": name,
        "proto": "Simple",
        "nchannels": 1,
        "nchunksperloop": chunks,
        "ngpus": len(gpus),
        "coll": collective,
        "inplace": int(in_place),
        "outofplace": int(not in_place if apart is None else apart),
        "minBytes": 0,
        "maxBytes": 0,
    }
    lines = [f"<algo {attributes(head.items())}>"]
    for rank, blocks in enumerate(gpus):
        sizes = {"id": rank, "i_chunks": chunks, "o_chunks": chunks, "s_chunks": scratch}
        lines.append(f"  <gpu {attributes(sizes.items())}>")
        for index, block in enumerate(blocks):
            ends = {"id": index, "send": block.send, "recv": block.recv, "chan": block.channel}
            lines.append(f"    <tb {attributes(ends.items())}>")
            lines += [f"      <step {attributes(step.items())}/>" for step in block.steps]
            lines.append("    </tb>")
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>", ""])


def ring_all_reduce(ranks: int, channels: int = 1) -> str:
    """Write the ring: chunk c of each channel is summed on its way from rank c + 1 to rank c, and then goes round."""
    gpus = []
    for rank in range(ranks):
        blocks = []
        for channel in range(channels):
            block = Block((rank + 1) % ranks, (rank - 1) % ranks, channel)
            for turn in range(2 * ranks - 1):
                chunk = ("i", (rank - 1 - turn) % ranks * channels + channel)
                last = turn == 2 * ranks - 2
                block.do(_ring_step(turn, ranks, last=last), chunk)
            blocks.append(block)
        gpus.append(blocks)
    return xml("allreduce", ranks * channels, gpus)


def _ring_step(turn: int, ranks: int, *, last: bool) -> str:
    if turn == 0:
        return "s"
    if turn < ranks - 1:
        return "rrs"
    if turn == ranks - 1:
        return "rrcs"
    return "r" if last else "rcs"


def all_pairs_all_reduce(ranks: int) -> str:
    """Write the two phases over all pairs: raw parts land in scratch, are added there, and the sums go back."""
    gpus = []
    for rank in range(ranks):
        peers = [peer for peer in range(ranks) if peer != rank]
        adder = Block()
        blocks = [adder]
        for place, peer in enumerate(peers):
            spot = ("s", place)
            block = Block(peer, peer).do("s", ("i", peer)).do("r", spot)
            block.do("s", ("i", rank), after=(0, len(peers) * 2 - 1)).do("r", ("i", peer))
            blocks.append(block)
        for place in range(len(peers)):
            adder.do("nop", after=(place + 1, 1))
        for place in range(len(peers)):
            adder.do("re", ("s", place), ("i", rank))
        gpus.append(blocks)
    return xml("allreduce", ranks, gpus, scratch=ranks - 1)


def one_shot_all_reduce(ranks: int) -> str:
    """Write a ring on which raw parts go round: each rank passes on what it has received, and adds it up beside."""
    gpus = []
    for rank in range(ranks):
        block = Block((rank + 1) % ranks, (rank - 1) % ranks)
        block.do("s", ("i", 0))
        for turn in range(ranks - 1):
            block.do("rcs" if turn < ranks - 2 else "r", ("s", turn))
        for turn in range(ranks - 1):
            block.do("re", ("s", turn), ("i", 0))
        gpus.append([block])
    return xml("allreduce", 1, gpus, scratch=ranks - 1)


def all_gather(ranks: int, *, in_place: bool) -> str:
    """Write an all-gather in which each rank sends its chunk to all others."""
    gpus = []
    for rank in range(ranks):
        blocks = [Block().do("nop" if in_place else "cpy", ("i", 0), ("o", rank))]
        for peer in range(ranks):
            if peer != rank:
                blocks.append(Block(peer, peer).do("s", ("i", 0)).do("r", ("o", peer)))
        gpus.append(blocks)
    return xml("allgather", ranks, gpus, in_place=in_place)


def all_to_all(ranks: int, per: int = 1) -> str:
    """Write an all-to-all of messages to all others."""
    gpus = []
    for rank in range(ranks):
        blocks = [Block().do("cpy", ("i", rank * per), ("o", rank * per), per)]
        for peer in range(ranks):
            if peer != rank:
                block = Block(peer, peer).do("s", ("i", peer * per), count=per)
                blocks.append(block.do("r", ("o", peer * per), count=per))
        gpus.append(blocks)
    return xml("alltoall", ranks * per, gpus, in_place=False)


def reduce_scatter(ranks: int, *, in_place: bool) -> str:
    """Write a reduce-scatter on a ring; the last sum is made in the output."""
    gpus = []
    for rank in range(ranks):
        block = Block((rank + 1) % ranks, (rank - 1) % ranks).do("s", ("i", (rank - 1) % ranks))
        for turn in range(1, ranks):
            chunk = ("i", (rank - 1 - turn) % ranks)
            block.do("rrs", chunk) if turn < ranks - 1 else block.do("rrc", chunk, ("o", 0))
        gpus.append([block])
    return xml("reducescatter", ranks, gpus, in_place=in_place)


#: Programs of every collective, right as they are.
RIGHT = {
    "ring of 2": ring_all_reduce(2),
    "ring of 4": ring_all_reduce(4),
    "ring of 3, two channels": ring_all_reduce(3, channels=2),
    "all pairs of 2": all_pairs_all_reduce(2),
    "all pairs of 4": all_pairs_all_reduce(4),
    "raw parts round a ring of 3": one_shot_all_reduce(3),
    "raw parts round a ring of 5": one_shot_all_reduce(5),
    "all-gather in place": all_gather(3, in_place=True),
    "all-gather": all_gather(3, in_place=False),
    "all-to-all": all_to_all(3),
    "all-to-all of two chunks": all_to_all(3, per=2),
    "reduce-scatter in place": reduce_scatter(3, in_place=True),
    "reduce-scatter": reduce_scatter(4, in_place=False),
}
