# SPDX-License-Identifier: Apache-2.0
"""Cuts a rank's lanes into thread blocks that MSCCL++'s executor has room for, and numbers channels and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from hemiola.export.mscclpp_document import MOST_CHANNELS, MOST_CHANNELS_AT_ONCE, MOST_OPERATIONS
from hemiola.export.mscclpp_lane import Act, Cell, Lane

T = TypeVar("T")


class RankBlocks:
    """Numbers a rank's channels, buffers and semaphores, and cuts its lanes into thread blocks."""

    def __init__(self, rank: int, lanes: Sequence[Lane]) -> None:
        self._rank = rank
        self._peers: list[int] = []  # of each channel
        self._channel: dict[tuple[int, int], int] = {}
        for number, lane in enumerate(lanes):
            for peer in _partners(lane, rank):
                self._channel[number, peer] = len(self._peers)
                self._peers.append(peer)
        self._buffers: list[tuple[int, str]] = []
        self._semaphore_count = 0
        self._blocks: list[dict[str, Any]] = []
        for number, lane in enumerate(lanes):
            self._add_lane(number, _with_greetings(lane, rank))
        if not self._blocks:  # the executor's kernel needs a thread block
            self._add_lane(0, [Act("nop")])

    def data(self) -> dict[str, Any]:
        memory = ["memory"]
        return {
            "threadblocks": self._blocks,
            "channels": [{"channel_type": "memory", "connected_to": self._peers}] if self._peers else [],
            "remote_buffers": [
                {"rank": rank, "type": buffer, "access_channel_types": memory}
                for rank, buffer in self._buffers
            ],
            "semaphores": [{"init_value": 0}] * self._semaphore_count,
        }

    def _add_lane(self, number: int, acts: Sequence[Act]) -> None:
        pieces = list(_pieces(self._rank, acts))
        for place, piece in enumerate(pieces):
            block = _Block(self._rank, number, self._channel, self._buffers)
            if place:
                block.add_semaphore("sem_acquire", self._semaphore_count - 1)
                block.add(Act("nop"))
            for act in piece:
                block.add(act)
            if place + 1 < len(pieces):
                block.add(Act("nop"))
                block.add_semaphore("sem_release", self._semaphore_count)
                self._semaphore_count += 1
            self._blocks.append(block.data(len(self._blocks)))


class _Block:
    """A thread block's operations, with its own lists of channels and remote buffers."""

    def __init__(
        self, rank: int, lane: int, channel: dict[tuple[int, int], int], buffers: list[tuple[int, str]]
    ) -> None:
        self._rank, self._lane, self._channel, self._buffers = rank, lane, channel, buffers
        self._channels: list[int] = []
        self._remotes: list[int] = []
        self._operations: list[dict[str, Any]] = []

    def data(self, number: int) -> dict[str, Any]:
        channels, remotes = self._channels, self._remotes
        return {
            "id": number,
            "ops": self._operations,
            "channels": [{"channel_type": "memory", "channel_ids": channels}] if channels else [],
            "remote_buffer_refs": (
                [{"access_channel_type": "memory", "remote_buffer_ids": remotes}] if remotes else []
            ),
        }

    def add_semaphore(self, name: str, number: int) -> None:
        self._operations.append({"name": name, "semaphore_ids": [number]})

    def add(self, act: Act) -> None:
        operation: dict[str, Any] = {"name": act.name}
        if act.peers:
            operation["channel_ids"] = [
                _place(self._channels, self._channel[self._lane, p]) for p in act.peers
            ]
        if act.reads:
            operation["src_buff"] = [self._operand(cell) for cell in act.reads]
            operation["dst_buff"] = [self._operand(cell) for cell in act.writes]
        if act.peers or act.name == "put":
            operation["channel_type"] = "memory"
        if act.name == "re":
            operation["reduce_op"] = "sum"
        self._operations.append(operation)

    def _operand(self, cell: Cell) -> dict[str, Any]:
        where = {"index": cell.start, "size": cell.size}
        if cell.rank == self._rank:
            return {"type": cell.buffer, **where}
        remote = _place(self._buffers, (cell.rank, cell.buffer))
        return {"buffer_id": _place(self._remotes, remote), **where}


def _place(listed: list[T], value: T) -> int:
    """Return where a value stands in a list, to which it is added where it does not."""
    if value not in listed:
        listed.append(value)
    return listed.index(value)


def _partners(lane: Lane, rank: int) -> list[int]:
    """Return the ranks with which a rank exchanges signals in a lane, in one order on both sides."""
    mine = {peer for act in lane.acts[rank] for peer in act.peers} | set(lane.greeted[rank])
    return sorted(mine)


def _with_greetings(lane: Lane, rank: int) -> list[Act]:
    greetings = [Act("signal", peers=tuple(lane.greeted[rank]))] if lane.greeted[rank] else []
    return [*greetings, *lane.acts[rank]]


def _pieces(rank: int, acts: Sequence[Act]) -> Iterator[list[Act]]:
    """Cut a lane into pieces that a thread block has room for, with four operations for the hand-over."""
    piece: list[Act] = []
    peers: set[int] = set()
    buffers: set[tuple[int, str]] = set()
    for act in _at_once(acts):
        more_peers = peers | set(act.peers)
        more = buffers | {(cell.rank, cell.buffer) for cell in act.writes if cell.rank != rank}
        full = len(piece) == MOST_OPERATIONS - 4
        if full or len(more_peers) > MOST_CHANNELS or len(more) > MOST_CHANNELS:
            yield piece
            piece, more_peers = [], set(act.peers)
            more = {(cell.rank, cell.buffer) for cell in act.writes if cell.rank != rank}
        piece.append(act)
        peers, buffers = more_peers, more
    if piece:
        yield piece


def _at_once(acts: Sequence[Act]) -> Iterator[Act]:
    """Split signals and waits of more channels than an operation has room for."""
    for act in acts:
        if not act.peers:
            yield act
        for first in range(0, len(act.peers), MOST_CHANNELS_AT_ONCE):
            yield Act(act.name, peers=act.peers[first : first + MOST_CHANNELS_AT_ONCE])
