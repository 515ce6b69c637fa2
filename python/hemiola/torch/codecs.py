# SPDX-License-Identifier: Apache-2.0
"""Tensors with many zeros as messages, and back, on their own device. They do the work of `hemiola.codecs` in Triton's
kernels on a GPU (NVIDIA or AMD). Messages are of the format `pici`, the same bytes on every device."""

from __future__ import annotations

import struct
from typing import Any

import torch

from hemiola.errors import ArgumentError, FormatError, MismatchError
from hemiola.torch.tensors import described

__all__ = ["add", "decode", "encode"]

_HEADER = struct.Struct("<IBBBBIIQQ")
_MAGIC, _PICI = 0x31434D48, 1
_MOST_ELEMENTS = 0xFFFFFFFF
_WORD, _TILE = 64, 4096
#: A header's name for each dtype.
_CODES = {
    torch.float16: 0,
    torch.bfloat16: 1,
    torch.float32: 2,
    torch.float64: 3,
    torch.int8: 4,
    torch.int16: 5,
    torch.int32: 6,
    torch.int64: 7,
    torch.uint8: 8,
    torch.bool: 12,
    torch.complex64: 13,
}
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_ADDABLE = (
    torch.float16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
)


def encode(x: Any) -> Any:
    """Encode a tensor: its elements of which a bit is set, a bitmap of them, and a prefix for every 4,096.

    Parameters
    ----------
    x : torch.Tensor, contiguous, of float16, bfloat16, float32, float64, int8 … int64, uint8, bool or complex64; at
        most 2^32 - 1 elements; on a device for which Triton compiles.

    Returns
    -------
    torch.Tensor of uint8 on the same device: the bytes of `hemiola.codecs.encode(x, "pici")`.

    Raises
    ------
    ArgumentError
        for a tensor with gaps or of another dtype, or where Triton is missing.

    Notes
    -----
    Two passes over the tensor; waits for the device once, to learn how long the message is.
    """
    triton = kernels()
    bits = _bits_of(x)
    size = bits.numel()
    tiles = -(-size // _TILE)
    words = torch.zeros(-(-size // _WORD), dtype=torch.int64, device=x.device)
    counts = torch.zeros(tiles, dtype=torch.int32, device=x.device)
    if tiles:
        triton.scan[(tiles,)](bits, words, counts, size, SIDE=_WORD)
    ends = torch.cumsum(counts, 0)
    starts = ends - counts
    nonzeros = int(ends[-1]) if tiles else 0
    message, values, index, prefixes = _parts(size, nonzeros, bits.dtype, x.device)
    header = _HEADER.pack(
        _MAGIC, _PICI, _CODES[x.dtype], 0, 0, size, nonzeros, message.numel() - _HEADER.size, 0
    )
    message[: _HEADER.size] = torch.frombuffer(bytearray(header), dtype=torch.uint8)
    index.copy_(words)
    prefixes.copy_(starts)
    if nonzeros:
        triton.compress[(tiles,)](bits, starts, values, size, nonzeros, TILE=_TILE)
    return message


def decode(message: Any, out: Any) -> Any:
    """Write an encoded tensor into another one.

    Parameters
    ----------
    message : torch.Tensor of uint8, contiguous, from `encode` or any other writer of the format `pici`.
    out : torch.Tensor as `encode` takes it, of the dtype and element count that was encoded, on the same device.

    Returns
    -------
    `out`.

    Raises
    ------
    FormatError
        Not a message that `encode` could have written; `out` is then as it was.
    MismatchError
        The tensor has another dtype or element count than the encoded one. ArgumentError
        as `encode` raises it.

    Notes
    -----
    Lengths, counts and prefixes are checked on the device before a value is read, which waits for it once.
    """
    return _expanded(message, out, _bits_of(out), adds=False)


def add(message: Any, total: Any) -> Any:
    """Add an encoded tensor to another one, zeros too: the sum is that of the plain tensors, bit for bit.

    Parameters
    ----------
    message, total : as `decode` takes them; of float16, float32, float64, int8 … int64 or uint8.

    Returns
    -------
    `total`.

    Raises
    ------
    ArgumentError, FormatError, MismatchError
        as `decode` raises them.
    """
    if total.dtype not in _ADDABLE:
        raise ArgumentError(
            f"add: expected a tensor of real numbers that are added, found {described(total)}"
        )
    _bits_of(total)
    return _expanded(message, total, total.view(-1), adds=True)


def _expanded(message: Any, out: Any, elements: Any, *, adds: bool) -> Any:
    triton = kernels()
    nonzeros = _checked_header(message, out)
    size = elements.numel()
    _, values, words, prefixes = _parts(size, nonzeros, elements.dtype, out.device, message)
    tiles = prefixes.numel()
    counts = torch.zeros(tiles, dtype=torch.int32, device=out.device)
    if tiles:
        triton.count[(tiles,)](words, counts, words.numel(), SIDE=_WORD)
    ends = torch.cumsum(counts, 0)
    if tiles and not _is_sound(message, nonzeros, elements, words, prefixes, ends - counts, ends[-1]):
        raise FormatError(
            f"expected a bitmap of {nonzeros} bits below {size}, a count of those before every {_TILE}, and zeros "
            "where something is filled up, found other ones"
        )
    if tiles:
        triton.expand[(tiles,)](words, prefixes, values, elements, size, nonzeros, adds=adds, TILE=_TILE)
    return out


def _is_sound(
    message: Any, nonzeros: int, elements: Any, words: Any, prefixes: Any, starts: Any, found: Any
) -> bool:
    """Say whether bitmap and prefixes are what the header promises; waits for the device once."""
    size = elements.numel()
    values_end = _HEADER.size + nonzeros * elements.element_size()
    filling = (
        message[values_end : _HEADER.size + _whole_words(nonzeros * elements.element_size())],
        message[message.numel() - 4 * (prefixes.numel() % 2) :],
        words[-1:] >> size % _WORD if size % _WORD else words[:0],
    )
    sound = (found == nonzeros) & (starts == prefixes.to(torch.int64)).all()
    for each in filling:
        sound = sound & (each == 0).all()
    return bool(sound)


def _checked_header(message: Any, out: Any) -> int:
    """Return how many values a message has; it is as long as it must be for these."""
    if message.dtype != torch.uint8 or not message.is_contiguous() or message.device != out.device:
        raise ArgumentError(
            f"message: expected contiguous bytes (uint8) on {out.device}, found {described(message)} on "
            f"{message.device}"
        )
    if message.numel() < _HEADER.size:
        raise FormatError(f"expected a header of {_HEADER.size} bytes, found {message.numel()}")
    header = bytes(message[: _HEADER.size].cpu().numpy())
    magic, format, code, low_bits, flags, elements, nonzeros, payload, reserved = _HEADER.unpack(header)
    if (magic, format, low_bits, flags, reserved) != (_MAGIC, _PICI, 0, 0, 0):
        raise FormatError(f"expected the header of a message of the format pici, found {header.hex()}")
    size = out.numel()
    if code != _CODES[out.dtype] or elements != size:
        raise MismatchError(
            f"expected a message of {size} elements of dtype {_CODES[out.dtype]}, found {elements} of {code}"
        )
    expected = _length(size, nonzeros, out.element_size())
    if nonzeros > size or payload != expected - _HEADER.size or message.numel() != expected:
        raise FormatError(
            f"expected {expected} bytes for {nonzeros} values of {size} elements, found {message.numel()}"
        )
    return int(nonzeros)


def _bits_of(x: Any) -> Any:
    """Return a tensor's elements as integers of their size: zero is what has no bit."""
    if x.dtype not in _CODES or not x.is_contiguous() or x.numel() > _MOST_ELEMENTS:
        raise ArgumentError(
            "expected a contiguous tensor of at most 2^32 - 1 numbers of up to 8 bytes, found " + described(x)
        )
    return x.detach().view(-1).view(_BITS[x.element_size()])


def _whole_words(nbytes: int) -> int:
    return -(-nbytes // 8) * 8


def _length(size: int, nonzeros: int, element_bytes: int) -> int:
    index = 8 * -(-size // _WORD) + 4 * -(-size // _TILE)
    return _HEADER.size + _whole_words(nonzeros * element_bytes) + _whole_words(index)


def _parts(
    size: int, nonzeros: int, dtype: Any, device: Any, message: Any = None
) -> tuple[Any, Any, Any, Any]:
    """Return a message, a new one unless given, and views of its values, bitmap and prefixes."""
    if message is None:
        length = _length(size, nonzeros, dtype.itemsize)
        message = torch.zeros(length, dtype=torch.uint8, device=device)
    elif message.data_ptr() % 8 != 0:
        message = message.clone()
    begin = _HEADER.size + _whole_words(nonzeros * dtype.itemsize)
    end = begin + 8 * -(-size // _WORD)
    values = message[_HEADER.size : begin].view(dtype)
    prefixes = message[end : end + 4 * -(-size // _TILE)].view(torch.int32)
    return message, values, message[begin:end].view(torch.int64), prefixes


def kernels() -> Any:
    """Return `codec_kernels`. Raises ArgumentError where Triton is not there."""
    try:
        from hemiola.torch import codec_kernels
    except ImportError as e:
        raise ArgumentError(
            "codecs for tensors need Triton, which is not there; pip install 'hemiola[triton]'"
        ) from e
    return codec_kernels
