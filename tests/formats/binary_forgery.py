# SPDX-License-Identifier: Apache-2.0
"""The binary form written by hand from docs/reference/formats/schedule.md, so that tests can also make files that the
writer never would, with checksums that hold."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

MAGIC = bytes.fromhex("89484D530D0A1A0A")
MASK = (1 << 64) - 1


def checksum(payload: bytes) -> int:
    """Return the checksum of a section's payload."""

    def fold(a: int, b: int) -> int:
        product = a * b
        return ((product & MASK) + (product >> 64)) & MASK

    padded = payload + bytes(-len(payload) % 8)
    high, low = 0x243F6A8885A308D3, 0x13198A2E03707344
    for word in (len(payload), *struct.unpack(f"<{len(padded) // 8}Q", padded)):
        high = fold(high ^ word, 0x9E3779B97F4A7C15)
        low = (fold(low ^ word, 0xD6E8FEB86659FD93) + word) & MASK
    return fold(low ^ high, 0xA0761D6478BD642F)


def section(payload: bytes) -> bytes:
    """Return length, checksum and payload."""
    return struct.pack("<QQ", len(payload), checksum(payload)) + payload


def column(values: Sequence[int], layout: int = 0) -> bytes:
    """Return a column in one of the fixed layouts."""
    return bytes([layout]) + b"".join(value.to_bytes(1 << layout, "little") for value in values)


@dataclass(frozen=True)
class Forgery:
    """A file's parts, by default those of a broadcast from rank 0 to rank 1 of one chunk; replace what a test needs."""

    header: bytes = MAGIC + struct.pack("<II", 1, 0)
    collective: bytes = bytes([3, 0]) + struct.pack("<III", 2, 1, 0) + b"\0" + b"\0"
    steps: tuple[int, ...] = (0,)
    step_sizes: tuple[int, ...] = (1,)
    links: tuple[int, ...] = (0,)
    chunks: tuple[int, ...] = (0,)
    reduces: bytes = b"\0"
    counts: tuple[int, int] | None = None
    step_count: int = 1
    transfer_count: int = 1
    pairs: tuple[tuple[int, int], ...] = ((0, 1),)
    slots: tuple[tuple[int, int], ...] = ()
    index: tuple[tuple[int, int], ...] = ((0, 1),)
    block_offsets: tuple[int, ...] | None = None
    footer_offset: int | None = None
    footer_tail: bytes = b""
    trailer_magic: bytes = MAGIC

    def block(self) -> bytes:
        """Return the payload of the one block."""
        counts = struct.pack("<II", *(self.counts or (len(self.steps), len(self.links))))
        columns = column(self.steps, 2) + column(self.step_sizes) + column(self.links) + column(self.chunks)
        return counts + columns + self.reduces

    def footer(self, block_offset: int) -> bytes:
        """Return the payload of the footer."""
        src, dst = [pair[0] for pair in self.pairs], [pair[1] for pair in self.pairs]
        offsets = self.block_offsets if self.block_offsets is not None else (block_offset,) * len(self.index)
        return (
            struct.pack("<QQQ", self.step_count, self.transfer_count, len(self.pairs))
            + column(src, 2)
            + column(dst, 2)
            + (
                column([a for a, _ in self.slots], 2) + column([b for _, b in self.slots], 2)
                if self.slots
                else b""
            )
            + struct.pack("<Q", len(self.index))
            + column(offsets, 3)
            + column([first for first, _ in self.index], 2)
            + column([size for _, size in self.index], 2)
            + self.footer_tail
        )

    def bytes(self) -> bytes:
        """Return the file."""
        start = self.header + section(self.collective)
        body = start + section(self.block())
        footer = section(self.footer(len(start)))
        offset = len(body) if self.footer_offset is None else self.footer_offset
        return body + footer + struct.pack("<Q", offset) + self.trailer_magic

    def but(self, **parts: object) -> "Forgery":
        """Return a copy with other parts."""
        return replace(self, **parts)
