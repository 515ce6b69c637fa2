# SPDX-License-Identifier: Apache-2.0
"""Messages of protobuf's wire format, as far as Chakra uses it: numbers, floats, texts and messages by field number.

Files hold one message after the other, each behind its length. They are read one by one, without generated code."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from hemiola.topology.place import Place

#: By field number, each value as it came: int, float or bytes.
Fields = dict[int, list[int | float | bytes]]
#: A message is no longer than this.
_MOST = 4 << 20
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


def messages_of(file: BinaryIO, source: str) -> Iterator[tuple[int, Fields]]:
    """Yield each message of a file with its offset.

    Parameters
    ----------
    file : as `open` returns it.
    source : the file's name in errors.

    Yields
    ------
    (int, Fields)

    Raises
    ------
    FormatError
        The file is cut off, or of another form; the message names file and offset.
    OSError
        The file cannot be read.
    """
    while True:
        offset = file.tell()
        where = Place(source, key=f"offset {offset}")
        length = _length(file, where)
        if length is None:
            return
        data = file.read(length)
        if len(data) < length:
            where.fail(
                f"expected a message of {length:,} bytes, found {len(data):,}; the file may be cut off"
            )
        yield offset, fields_of(data, where)


def fields_of(data: bytes, where: Place) -> Fields:
    """Return a message's values by field number; errors name `where`."""
    found: Fields = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at, where)
        number, form = key >> 3, key & 7
        value: int | float | bytes
        if form == _VARINT:
            value, at = _varint(data, at, where)
        elif form == _BYTES:
            length, at = _varint(data, at, where)
            value, at = data[at : at + length], at + length
        elif form in (_FIXED_64, _FIXED_32):
            size = 8 if form == _FIXED_64 else 4
            piece, at = data[at : at + size], at + size
            value = struct.unpack("<d" if size == 8 else "<f", piece)[0] if len(piece) == size else 0.0
        else:
            where.fail(
                f"expected a field of protobuf's forms 0, 1, 2 or 5, found form {form}; the file may be of another kind"
            )
        if at > len(data):
            where.fail("expected a whole field, found the end of its message")
        found.setdefault(number, []).append(value)
    return found


def numbers(values: list[int | float | bytes], where: Place) -> list[int]:
    """Return a repeated field of whole numbers, packed or not."""
    found: list[int] = []
    for value in values:
        if isinstance(value, bytes):
            at = 0
            while at < len(value):
                one, at = _varint(value, at, where)
                found.append(one)
        else:
            found.append(int(value))
    return found


def _varint(data: bytes, at: int, where: Place) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    where.fail("expected a whole number of at most ten bytes, found none; the file may be of another kind")


def _length(file: BinaryIO, where: Place) -> int | None:
    """Read the length of the next message; None at the end of the file."""
    value = shift = 0
    while byte := file.read(1):
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            if value > _MOST:
                where.fail(
                    f"expected a message of at most {_MOST:,} bytes, found {value:,}; the file may be of another kind"
                )
            return value
        if shift > 35:
            where.fail("expected the length of a message, found none; the file may be of another kind")
    if shift:
        where.fail("expected the length of a message, found the end of the file; it may be cut off")
    return None
