# SPDX-License-Identifier: Apache-2.0
"""Sizes, times and rank=value texts: what is read, and that all else is a typed error with one line."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hemiola.cli import values
from hemiola.errors import ArgumentError, FormatError

READERS = {
    "size": values.read_size,
    "seconds": values.read_seconds,
    "factor": values.read_factor,
    "count": values.read_count,
    "late": lambda text: values.read_late([text]),
    "slow": lambda text: values.read_slow([text]),
}

# Text that looks like what the readers expect, and text that does not, lone surrogates included.
ALMOST = st.from_regex(r"[0-9]{0,12}[=.,e+-]{0,2}[0-9]{0,4} ?[kKMGTPiBbmunps/]{0,4}[x,]?", fullmatch=True)
ANYTHING = st.text(st.characters(), max_size=80)


@pytest.mark.parametrize(
    ("text", "nbytes"), [("64MiB", 64 << 20), ("64M", 64_000_000), ("4096", 4096), ("1 KiB", 1024), ("0", 0)]
)
def test_sizes_are_read_with_their_units(text: str, nbytes: int) -> None:
    assert values.read_size(text) == nbytes


def test_late_ranks_are_read_from_several_options_and_from_commas() -> None:
    assert values.read_late(["7=50ms,1=2s", "0=3us"]) == {7: 0.05, 1: 2.0, 0: pytest.approx(3e-6)}


def test_slow_ranks_take_a_factor_with_or_without_x() -> None:
    assert values.read_slow(["0=2", "3=1.5x"]) == {0: 2.0, 3: 1.5}


@pytest.mark.parametrize("text", ["0=0.5", "0=nan", "0=inf", "0=", "=2", "0", "-1=2", "0=2=3", "", "0=2,0=3"])
def test_bad_slow_ranks_are_refused_with_the_text_quoted(text: str) -> None:
    with pytest.raises((FormatError, ArgumentError)):
        values.read_slow([text])


def test_a_rank_beyond_the_last_is_refused_naming_the_option() -> None:
    with pytest.raises(ArgumentError, match=r"--late names rank 8, but there are 8 ranks"):
        values.read_conditions(["8=50ms"], [], rank_count=8)


def test_size_steps_double_from_first_to_last() -> None:
    assert values.size_steps(8, 64, 2) == [8, 16, 32, 64]
    assert values.size_steps(8, 63, 2) == [8, 16, 32]
    assert values.size_steps(5, 5, 2) == [5]


def test_size_steps_grow_even_from_zero() -> None:
    # max(0 * 2, 0 + 1) = 1, then 2, then 4.
    assert values.size_steps(0, 4, 2) == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("first", "last", "factor"), [(8, 4, 2), (8, 64, 1), (0, 1 << 40, 1.0000001), (1, 2, math.nan)]
)
def test_size_steps_that_would_not_end_are_refused(first: int, last: int, factor: float) -> None:
    with pytest.raises(ArgumentError):
        values.size_steps(first, last, factor)


@pytest.mark.parametrize("name", READERS)
@given(text=ALMOST | ANYTHING)
@example(text="\udcff")
@example(text="9" * 400)
@example(text="1e400")
@example(text="=")
def test_any_text_is_read_or_refused_with_a_typed_error(name: str, text: str) -> None:
    try:
        READERS[name](text)
    except (FormatError, ArgumentError) as error:
        str(error).encode("utf-8")  # printable as it stands


@given(rank=st.integers(0, 2**31 - 1), milliseconds=st.integers(0, 10**6))
def test_what_is_written_as_rank_equals_time_is_read_back(rank: int, milliseconds: int) -> None:
    assert values.read_late([f"{rank}={milliseconds}ms"]) == {rank: pytest.approx(milliseconds * 1e-3)}
