# SPDX-License-Identifier: Apache-2.0
"""Codecs of tensors, in Triton's interpreter: the bytes that the core writes, and what it reads from them."""

from __future__ import annotations

import os

import numpy as np
import pytest

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported: there may be no GPU

import torch
from of_pytorch import needs_triton

import hemiola as hm
from hemiola.torch import codecs

pytestmark = needs_triton
SIZES = (0, 1, 63, 64, 65, 4096, 9001)
DTYPES = (torch.float32, torch.float64, torch.float16, torch.int8, torch.bool, torch.complex64)


def tensor_of(size: int, dtype: torch.dtype, every: int) -> torch.Tensor:
    """Return one nonzero element in so many, among them a negative zero, a NaN, an infinity and a subnormal number."""
    x = torch.zeros(size, dtype=torch.float64)
    x[::every] = torch.arange(len(x[::every]), dtype=torch.float64) % 100 + 1
    x = x.to(dtype)
    if dtype.is_floating_point and size > 60:
        x[7], x[13], x[28], x[59] = -0.0, float("nan"), float("inf"), torch.finfo(dtype).tiny / 4
    return x


def bytes_of(x: torch.Tensor) -> bytes:
    return x.contiguous().view(-1).numpy().tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_messages_are_those_of_the_core_both_ways(dtype: torch.dtype) -> None:
    for size in SIZES:
        for every in (1, 50):
            x = tensor_of(size, dtype, every)
            of_core = hm.codecs.encode(x.numpy(), "pici")
            assert bytes_of(codecs.encode(x)) == of_core
            message = torch.frombuffer(bytearray(of_core), dtype=torch.uint8)
            out = torch.full_like(x, 1)
            assert codecs.decode(message, out) is out
            assert bytes_of(out) == bytes_of(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.uint8], ids=str)
def test_adding_a_message_gives_the_bits_of_adding_the_tensor(dtype: torch.dtype) -> None:
    x, total = tensor_of(9001, dtype, 7), tensor_of(9001, dtype, 3)
    total[:5] = torch.tensor([0, 0, 3, 0, 0], dtype=dtype) * -1 if dtype.is_signed else 3
    expected = total + x
    codecs.add(codecs.encode(x), total)
    assert np.array_equal(total.numpy(), expected.numpy(), equal_nan=dtype.is_floating_point)
    kept = ~torch.isnan(expected)
    assert bytes_of(total[kept]) == bytes_of(expected[kept])


def test_a_spoiled_message_is_refused_and_nothing_is_written() -> None:
    x = tensor_of(5000, torch.float32, 50)
    good = codecs.encode(x)
    index = len(good) - 8 * 79 - 8  # two prefixes behind 79 words
    for place, bit in ((0, 1), (4, 2), (7, 1), (12, 1), (16, 1), (24, 1), (index, 1), (index + 8 * 79, 1)):
        bad = good.clone()
        bad[place] ^= bit
        out = torch.full_like(x, 3)
        with pytest.raises(hm.FormatError):
            codecs.decode(bad, out)
        assert bool((out == 3).all())
    with pytest.raises(hm.FormatError):
        codecs.decode(good[:-8], torch.zeros_like(x))
    with pytest.raises(hm.FormatError):
        codecs.decode(good[:20], torch.zeros_like(x))
    odd = codecs.encode(torch.ones(5))
    for place in (32 + 5 * 4, len(odd) - 1):
        bad = odd.clone()
        bad[place] = 1
        with pytest.raises(hm.FormatError, match="filled up"):
            codecs.decode(bad, torch.zeros(5))
    beyond = good.clone()
    beyond[index + 8 * 79 - 1] ^= 128  # element 5055
    with pytest.raises(hm.FormatError):
        codecs.decode(beyond, torch.zeros_like(x))


def test_what_does_not_fit_is_told() -> None:
    message = codecs.encode(torch.ones(10))
    with pytest.raises(hm.MismatchError, match="10"):
        codecs.decode(message, torch.ones(11))
    with pytest.raises(hm.MismatchError):
        codecs.decode(message, torch.ones(10, dtype=torch.int32))
    with pytest.raises(hm.ArgumentError, match="contiguous"):
        codecs.encode(torch.ones(4, 4).T)
    with pytest.raises(hm.ArgumentError):
        codecs.encode(torch.ones(4, dtype=torch.complex128))
    with pytest.raises(hm.ArgumentError):
        codecs.add(message, torch.ones(10, dtype=torch.bool))
    with pytest.raises(hm.ArgumentError, match="uint8"):
        codecs.decode(torch.ones(10), torch.ones(10))
