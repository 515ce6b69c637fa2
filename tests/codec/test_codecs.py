# SPDX-License-Identifier: Apache-2.0
"""hemiola.codecs: arrays there and back, the smallest format by exact size, and messages that are none."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola.errors import ArgumentError, ArgumentTypeError, FormatError, MismatchError

DTYPES = [
    *(np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)),
    *map(np.dtype, ("f2", "f4", "f8", "?", "c8", "c16")),
    np.dtype(ml_dtypes.bfloat16),
]
FORMATS = ["dense", "pici", "ef", "hier", "coo"]
CORPUS = Path(__file__).parent / "corpus"


def sparse(count: int, dtype: np.dtype, density: float, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    bits = random.integers(0, 256, (count, dtype.itemsize), np.uint8)
    if dtype == np.dtype("?"):
        bits[:] = 1
    bits[random.random(count) >= density] = 0
    return np.ascontiguousarray(bits).view(dtype).reshape(count)


def test_names_are_the_five_formats():
    assert hm.codecs.names() == FORMATS


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("format", [*FORMATS, None])
def test_every_dtype_keeps_every_bit_in_every_format(dtype, format):
    for count in (0, 1, 64, 1001, 9000):
        for density in (0, 0.01, 0.5, 1):
            x = sparse(count, dtype, density)
            e = hm.codecs.encode(x, format)
            assert hm.codecs.decode(e, np.empty_like(x)).tobytes() == x.tobytes()
            assert hm.codecs.describe(e).elements == count
            assert hm.codecs.describe(e).dtype == dtype.name
            assert format is None or hm.codecs.describe(e).format == format


def test_none_chooses_the_smallest():
    for density in (0, 0.0001, 0.01, 0.1, 0.6, 0.999, 1):
        x = sparse(50_000, np.dtype("f4"), density)
        sizes = {name: len(hm.codecs.encode(x, name)) for name in FORMATS if name != "coo"}
        e = hm.codecs.encode(x)
        assert len(e) == min(sizes.values()) <= x.nbytes + 32
        assert hm.codecs.describe(e).nbytes == len(e)
        assert sizes[hm.codecs.describe(e).format] == len(e)


def test_shapes_are_the_callers_and_the_message_may_be_any_bytes():
    x = sparse(6000, np.dtype("f8"), 0.02).reshape(20, 30, 10)
    e = hm.codecs.encode(x)
    for same in (e, bytearray(e), memoryview(e), np.frombuffer(e, np.uint8)):
        assert hm.codecs.decode(same, np.empty(6000)).tobytes() == x.tobytes()
    shifted = memoryview(b"?" + e)[1:]  # at no multiple of anything
    for format in FORMATS:
        shifted = memoryview(b"?" + hm.codecs.encode(x, format))[1:]
        assert hm.codecs.decode(shifted, np.empty_like(x)).tobytes() == x.tobytes()


def test_out_of_another_dtype_or_size_is_refused_and_left_alone():
    e = hm.codecs.encode(np.arange(10, dtype=np.float32))
    for out in (np.ones(9, "f4"), np.ones(10, "i4"), np.ones(10, "f8")):
        with pytest.raises(MismatchError, match=r"expected .* found .*"):
            hm.codecs.decode(e, out)
        assert (out == 1).all()


def test_what_is_no_message_is_refused_before_anything_is_written():
    x = sparse(5000, np.dtype("f4"), 0.01)
    for format in FORMATS:
        e = hm.codecs.encode(x, format)
        out = np.ones_like(x)
        for bad in (b"", e[:31], e[:-1], e + b"\0", b"X" + e[1:]):
            with pytest.raises(FormatError, match=r"coded message: expected .* found .*"):
                hm.codecs.decode(bad, out)
        assert (out == 1).all()


def test_arguments_that_cannot_be_are_refused_by_name():
    x = np.zeros((4, 4), np.float32)
    with pytest.raises(ArgumentError, match="format: expected one of dense, pici, ef, hier, coo"):
        hm.codecs.encode(x, "zip")
    with pytest.raises(ArgumentError, match="x: expected an array in C order"):
        hm.codecs.encode(x.T[:2])
    with pytest.raises(ArgumentError, match="x: expected a dtype of"):
        hm.codecs.encode(np.array(["a"]))
    with pytest.raises(ArgumentTypeError, match=r"encode\(\): x: expected"):
        hm.codecs.encode([0.0, 1.0])
    read_only = np.zeros(16, np.float32)
    read_only.flags.writeable = False
    with pytest.raises(ArgumentError, match="out: expected an array that can be written"):
        hm.codecs.decode(hm.codecs.encode(x), read_only)


@settings(max_examples=300, deadline=None)
@given(
    data=st.binary(max_size=700),
    zeros=st.integers(0, 300),
    dtype=st.sampled_from(["u1", "i2", "f4", "f8"]),
    format=st.sampled_from([*FORMATS, None]),
)
def test_any_bytes_survive(data, zeros, dtype, format):
    width = np.dtype(dtype).itemsize
    raw = (data[: len(data) // 2] + bytes(zeros) + data[len(data) // 2 :])[
        : (len(data) + zeros) // width * width
    ]
    x = np.frombuffer(raw, dtype)
    out = np.empty_like(x)
    assert hm.codecs.decode(hm.codecs.encode(x, format), out).tobytes() == x.tobytes()


def test_speeds_are_those_of_a_density_and_a_format_and_measured_once() -> None:
    found = {(d, name): hm.codecs.speeds(d, name) for d in (0.01, 1.0) for name in (None, *hm.codecs.names())}
    assert all(min(s.compress, s.decompress, s.add) > 0 for s in found.values())
    assert hm.codecs.speeds(0.01) is found[0.01, None]
    assert hm.codecs.speeds() is hm.codecs.speeds(0.1)


@pytest.mark.parametrize("density", [0.0, -0.1, 1.5, float("nan")])
def test_speeds_of_no_density_are_refused(density: float) -> None:
    with pytest.raises(ArgumentError, match=r"^density: expected a share in \(0, 1\], found"):
        hm.codecs.speeds(density)


def test_speeds_of_an_unknown_format_are_refused() -> None:
    with pytest.raises(ArgumentError, match="found 'gzip'"):
        hm.codecs.speeds(0.1, "gzip")


@pytest.mark.parametrize("name", ["compress", "decompress", "add"])
@pytest.mark.parametrize("speed", [0, -1.0, float("nan")])
def test_a_speed_that_is_not_above_zero_is_refused_by_its_name(name: str, speed: float) -> None:
    with pytest.raises(ArgumentError, match=f"expected {name} above 0 bytes per second, found {speed}"):
        hm.codecs.Speeds(**({"compress": 1.0, "decompress": 1.0, "add": 1.0} | {name: speed}))


@pytest.mark.parametrize("name", ["position_compress_s", "position_decompress_s"])
@pytest.mark.parametrize("seconds", [-1e-9, float("inf"), float("nan")])
def test_a_place_that_takes_no_time_or_no_end_of_it_is_refused(name: str, seconds: float) -> None:
    with pytest.raises(ArgumentError, match=f"expected {name} of 0 seconds or more"):
        hm.codecs.Speeds(1.0, 1.0, 1.0, **{name: seconds})


def test_speeds_may_be_infinite_and_places_free() -> None:
    speeds = hm.codecs.Speeds(float("inf"), float("inf"), float("inf"))
    assert (speeds.position_compress_s, speeds.position_decompress_s) == (0.0, 0.0)


def test_a_place_costs_what_numbers_take_longer_than_bitmaps_and_never_less_than_nothing() -> None:
    # Given a bitmap's codec of 1 and 2 GB/s, and one of numbers of half a GB/s and of 4 GB/s. Derivation: a value of 4
    # bytes in 10 % of the elements stands for 40 plain bytes: 40 * (2 - 1) ns to write; to read it is faster, so 0.
    measured = {"pici": hm.codecs.Speeds(1e9, 2e9, 1.0), "ef": hm.codecs.Speeds(0.5e9, 4e9, 1.0)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hm.codecs, "_measured", lambda density, format: measured[format])
        assert hm.codecs._position_costs.__wrapped__() == pytest.approx((40e-9, 0.0))


def test_a_block_of_ef_is_counted_only_where_there_is_one_more() -> None:
    # Given 20,000 values in 65,535 to 65,537 elements, l = 1, so that blocks have 2^16. Derivation: a count stands
    # before each block but the first, (elements - 1) >> 16 of them; the words of upper and lower bits are as many for
    # all three.
    sizes = []
    for elements in (65_535, 65_536, 65_537):
        x = np.zeros(elements, np.float32)
        x[: 3 * 20_000 : 3] = 1.0
        sizes.append(len(hm.codecs.encode(x, "ef")))
    assert sizes[0] == sizes[1] < sizes[2]
