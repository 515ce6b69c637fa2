# SPDX-License-Identifier: Apache-2.0
"""Arrays with many zeros as messages of the size of their content, and back, bit for bit.

`encode` finds the nonzero elements in one scan and writes them with the smallest index of their places; `decode` checks
every bit of that before it writes anything. An element is zero where all its bits are, so -0.0, NaN and subnormal
numbers are kept."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemiola._core import codecs as core
from hemiola.arguments import typed
from hemiola.errors import ArgumentError

A = TypeVar("A", bound=NDArray[Any])

__all__ = ["Message", "Speeds", "choose", "decode", "describe", "encode", "names", "speeds"]

_OF_POSITIONS = ("position_compress_s", "position_decompress_s")


@dataclass(frozen=True)
class Message:
    """An encoded array's own description.

    Attributes
    ----------
    format : str, one of `names()`.
    dtype : str, the name of the array's dtype.
    elements : int, how many elements of it.
    nonzeros : int, values stored: all where the format is dense; of complex128 each half counts for itself.
    nbytes : int, the whole message.
    """

    format: str
    dtype: str
    elements: int
    nonzeros: int
    nbytes: int


@typed
@dataclass(frozen=True)
class Speeds:
    """The speed at which one core encodes and decodes.

    Attributes
    ----------
    compress, decompress, add : float > 0, plain bytes per second: from array to message, from message to array, and
        from message into an array by adding. Infinite: it takes no time.
    position_compress_s, position_decompress_s : float >= 0, seconds beside that for each place that a message tells by
        a number, as "ef" does. They tell where a shorter message costs cores more than it saves a link.
    """

    compress: float
    decompress: float
    add: float
    position_compress_s: float = 0.0
    position_decompress_s: float = 0.0

    def __post_init__(self) -> None:
        for name in ("compress", "decompress", "add"):
            if not getattr(self, name) > 0:
                raise ArgumentError(f"expected {name} above 0 bytes per second, found {getattr(self, name)}")
        for name in _OF_POSITIONS:
            if not 0 <= getattr(self, name) < math.inf:
                raise ArgumentError(f"expected {name} of 0 seconds or more, found {getattr(self, name)}")


@typed
def speeds(density: float = 0.1, format: str | None = None) -> Speeds:
    """Measure how fast this machine's core encodes and decodes.

    Parameters
    ----------
    density : float in (0, 1], the share of float32 that are not zero, at random places. One in ten is the slowest share
        that is worth it: fewer are faster, and more make messages little shorter.
    format : str, one of `names()`; None for the formats that operations choose from: "pici", and the extra time of each
        position of "ef".

    Returns
    -------
    Speeds; the same object in every such call of a process.

    Raises
    ------
    ArgumentError
        The density is out of range, or the format is unknown.

    Notes
    -----
    Medians of 48 slices of 512 KiB, more than caches hold; some 50 ms for a format, the first time.
    """
    if not 0 < density <= 1:
        raise ArgumentError(f"density: expected a share in (0, 1], found {density}")
    return _measured(float(density), format)


@functools.cache
def _measured(density: float, format: str | None) -> Speeds:
    if format is not None:
        return Speeds(*core.speeds(density, format))
    bitmaps = _measured(density, "pici")
    return replace(bitmaps, **dict(zip(_OF_POSITIONS, _position_costs(), strict=True)))


@functools.cache
def _position_costs() -> tuple[float, float]:
    """Return the seconds for which a position of "ef" is compressed and decompressed."""
    density = 0.1
    plain_bytes = np.dtype(np.float32).itemsize / density  # for each position
    bitmaps, numbers = _measured(density, "pici"), _measured(density, "ef")
    return (
        max(0.0, plain_bytes * (1 / numbers.compress - 1 / bitmaps.compress)),
        max(0.0, plain_bytes * (1 / numbers.decompress - 1 / bitmaps.decompress)),
    )


def names() -> list[str]:
    """List the formats.

    Returns
    -------
    list of str: "dense", all elements; "pici", a bitmap with a count per 4,096 elements; "ef", Elias-Fano positions, of
    the zeros where these are fewer; "hier", the bitmap's nonzero bytes, twice; "coo", 32-bit positions, which is
    written only where it is named.
    """
    return core.names()


@typed
def choose(format: str | None) -> str | None:
    """Choose the format that this process writes messages of sparse collectives in, to compare it with others.

    Parameters
    ----------
    format : str, one of `names()`; None, as from the start, for the fastest of each message: by the longer time of the
        link and of the cores at its ends. On slow links that is the smallest.

    Returns
    -------
    str or None, the choice before.

    Raises
    ------
    ArgumentError
        The format is unknown.

    Notes
    -----
    Holds for operations that begin from now on. A message names its format, so ranks need not choose the same, and
    results are the same bits with any choice. A message that would take more than 0.97 of its plain bytes goes plain as
    ever. With "pici" and `schedule="all_reduce_ring"` messages are those of [SpCCL], without its thresholds.

    Examples
    --------
    >>> import hemiola as hm
    >>> before = hm.codecs.choose("pici")
    >>> hm.codecs.choose(before)
    'pici'
    """
    return core.choose(format)


@typed
def encode(x: NDArray[Any], format: str | None = None) -> bytes:
    """Encode an array: its nonzero elements, and where they belong.

    Parameters
    ----------
    x : ndarray in C order, of any shape and any dtype that collectives take; at most 2^32 - 1 elements.
    format : str, one of `names()`; None for the smallest, which never takes more than 32 bytes beside the array.

    Returns
    -------
    bytes. They tell format, dtype and element count, not the shape.

    Raises
    ------
    ArgumentError
        The format is unknown, or the array has gaps, another dtype, or more elements; encode its slices then.

    Notes
    -----
    One pass over the array, in any format; exact sizes follow from it, and only the chosen index is written. Memory:
    the array's size while it runs. Deterministic, the same bytes on every machine. Runs without the GIL, in one thread.
    Formats: docs/reference/formats/coded.md; "pici" is from [SpCCL, §3].

    Examples
    --------
    >>> import numpy as np, hemiola as hm
    >>> x = np.zeros(100_000, np.float32)
    >>> x[::1000] = 1
    >>> e = hm.codecs.encode(x)
    >>> hm.codecs.describe(e).format, len(e), x.nbytes
    ('ef', 592, 400000)
    """
    return core.encode(x, format)


@typed
def decode(encoded: bytes | bytearray | memoryview | NDArray[np.uint8], out: A) -> A:
    """Write an encoded array into another one.

    Parameters
    ----------
    encoded : bytes, or anything with bytes in one piece, from any `encode`.
    out : writable ndarray in C order, of the dtype and element count that was encoded; every element is written.

    Returns
    -------
    `out`.

    Raises
    ------
    FormatError
        Not a message that `encode` could have written: lengths, counts, prefixes and order of positions are checked
        before anything is written, and nothing is read outside.
    MismatchError
        The array has another dtype or element count than the encoded one.
    ArgumentError
        An argument is no array in one piece, or `out` is read-only.

    Notes
    -----
    Exact. One pass over the index, one over the values; memory of one bit per element. Runs without the GIL, in one
    thread.

    Examples
    --------
    >>> import numpy as np, hemiola as hm
    >>> x = np.array([0, -0.0, 3, 0])
    >>> hm.codecs.decode(hm.codecs.encode(x, "coo"), np.empty_like(x))
    array([ 0., -0.,  3.,  0.])
    """
    core.decode(encoded, out)
    return out


@typed
def describe(encoded: bytes | bytearray | memoryview | NDArray[np.uint8]) -> Message:
    """Read an encoded array's own description, without decoding it.

    Parameters
    ----------
    encoded : bytes, or anything with bytes in one piece, from `encode`.

    Returns
    -------
    Message

    Raises
    ------
    FormatError
        The header contradicts itself or the length. The index is only checked by `decode`.
    """
    return Message(*core.describe(encoded))
