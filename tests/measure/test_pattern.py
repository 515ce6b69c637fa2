# SPDX-License-Identifier: Apache-2.0
"""The test data of `run` and `bench`: exact for every dtype, blind to no mistake a collective can make."""

import numpy as np
import pytest

from hemiola.errors import ArgumentError
from hemiola.measure.pattern import BLOCKED, REDUCING, ROOTED, Pattern, _codes, dtype_named

DTYPES = [
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "int64",
    "uint8",
    "uint64",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
]


def summed(pattern: Pattern) -> np.ndarray:
    """What adding all inputs one after another in the dtype itself gives."""
    total = pattern.input_of(0).copy()
    for rank in range(1, pattern.rank_count):
        total = (total + pattern.input_of(rank)).astype(pattern.dtype)
    return total


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rank_count", [1, 2, 3, 16])
def test_sums_are_exact_in_every_dtype(dtype: str, rank_count: int) -> None:
    pattern = Pattern("all_reduce", rank_count, 5000, dtype_named(dtype))
    assert pattern.wrong(0, summed(pattern)) == 0


@pytest.mark.parametrize("op", ["product", "min", "max"])
@pytest.mark.parametrize("dtype", DTYPES[:8])
def test_other_operations_are_exact_too(dtype: str, op: str) -> None:
    pattern = Pattern("all_reduce", 5, 1000, dtype_named(dtype), op)
    combine = {"product": np.multiply, "min": np.minimum, "max": np.maximum}[op]
    total = pattern.input_of(0)
    for rank in range(1, 5):
        total = combine(total, pattern.input_of(rank))
    assert pattern.wrong(2, total) == 0


@pytest.mark.parametrize("op", ["and", "or", "xor"])
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8"])
def test_bitwise_operations_are_exact(dtype: str, op: str) -> None:
    pattern = Pattern("all_reduce", 3, 1000, dtype_named(dtype), op)
    combine = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[op]
    total = combine(combine(pattern.input_of(0), pattern.input_of(1)), pattern.input_of(2))
    assert pattern.wrong(1, total) == 0


def test_an_average_may_be_off_by_rounding_and_no_more() -> None:
    pattern = Pattern("all_reduce", 3, 1000, dtype_named("float32"), "average")
    mean = (summed(Pattern("all_reduce", 3, 1000, dtype_named("float32"))) / 3).astype(np.float32)
    assert pattern.wrong(0, mean) == 0
    assert pattern.wrong(0, mean * np.float32(1 + 1e-5)) == 1000


@pytest.mark.parametrize("shift", [1, 31, 64, 256, 1024, 65536, 100_000])
def test_data_that_lands_elsewhere_shows_in_most_elements(shift: int) -> None:
    pattern = Pattern("broadcast", 2, 1 << 18, dtype_named("float32"))
    assert pattern.wrong(1, np.roll(pattern.input_of(0), shift)) > (1 << 18) * 0.9


def test_a_contribution_that_is_lost_or_added_twice_shows_in_every_element() -> None:
    pattern = Pattern("all_reduce", 4, 1000, dtype_named("int32"))
    assert pattern.wrong(0, summed(pattern) - pattern.input_of(3)) == 1000
    assert pattern.wrong(0, summed(pattern) + pattern.input_of(3)) == 1000


def test_blocks_go_where_each_collective_says() -> None:
    whole = [Pattern("all_reduce", 3, 12, dtype_named("int64")).input_of(rank) for rank in range(3)]

    def pattern(kind: str) -> Pattern:
        return Pattern(kind, 3, 12, dtype_named("int64"), root=1)

    gathered = np.concatenate([whole[0][0:4], whole[1][4:8], whole[2][8:12]])
    exchanged = np.concatenate([whole[0][8:12], whole[1][8:12], whole[2][8:12]])
    assert pattern("all_gather").input_of(2).tolist() == whole[2][8:12].tolist()
    assert pattern("all_gather").output_of(0).tolist() == gathered.tolist()
    assert pattern("gather").output_of(1).tolist() == gathered.tolist()
    assert pattern("gather").output_of(0).size == 0
    assert pattern("reduce_scatter").output_of(2).tolist() == sum(whole)[8:12].tolist()
    assert pattern("all_to_all").output_of(2).tolist() == exchanged.tolist()
    assert pattern("scatter").output_of(2).tolist() == whole[1][8:12].tolist()
    assert pattern("broadcast").output_of(0).tolist() == whole[1].tolist()
    assert pattern("broadcast").input_of(0).size == 0


@pytest.mark.parametrize("kind", [*BLOCKED, *REDUCING, *ROOTED])
@pytest.mark.parametrize("count", [0, 12, 13])
def test_an_output_is_as_large_as_is_said(kind: str, count: int) -> None:
    pattern = Pattern(kind, 3, count, dtype_named("int64"), root=1)
    sizes = [pattern.output_size(rank) for rank in range(3)]
    assert sizes == [pattern.output_of(rank).size for rank in range(3)]


def test_an_output_of_the_wrong_length_is_wrong() -> None:
    assert Pattern("all_reduce", 2, 10, dtype_named("int32")).wrong(0, np.zeros(7, np.int32)) == 10


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ArgumentError, match="float8"):
        dtype_named("float8")
    with pytest.raises(ArgumentError, match="median"):
        Pattern("all_reduce", 2, 4, dtype_named("int32"), "median").output_of(0)


@pytest.mark.parametrize("at", [1, 1 << 16, (1 << 31) + 1, 1 << 32, (1 << 33) - 3])
def test_a_part_of_a_long_buffer_has_the_values_of_the_whole(at: int) -> None:
    begin, end = max(0, at - 100), at + 100
    whole = _codes(begin, end)
    assert np.array_equal(whole, np.concatenate([_codes(begin, at), _codes(at, end)]))
    assert len(set(whole.tolist())) > 50  # neighbours differ
