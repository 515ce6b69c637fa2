# SPDX-License-Identifier: Apache-2.0
"""Words of another rank that cannot be read are a FormatError that names it, and never a raw error of the parser."""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import garbled_ranks as work
import pytest

import hemiola as hm
from hemiola.communicator.words_of_ranks import read_words
from hemiola.planner.recipe import LateHabit, Recipe

LIMIT_S = 90
NO_WORDS = ["", "{", "[1]", "7", '{"timeout_s": 5}', "[" * 100_000]


@pytest.mark.parametrize("garbled", NO_WORDS, ids=range(len(NO_WORDS)))
def test_garbled_options_name_the_rank_that_has_sent_them(garbled: str) -> None:
    for kind, message, blamed in hm.launch(work.options, 3, secrets.token_hex(4), garbled, timeout_s=LIMIT_S):
        assert (kind, blamed) == ("FormatError", 1), message
        assert "rank 1 has sent what no rank sends: options of init" in message


@pytest.mark.parametrize("sender", [0, 1])
@pytest.mark.parametrize("garbled", ["{", "[]", '{"rank_count": []}'])
def test_garbled_words_at_a_store_name_their_sender(tmp_path: Path, sender: int, garbled: str) -> None:
    told = hm.launch(work.at_a_store, 2, str(tmp_path), sender, garbled, timeout_s=LIMIT_S)
    kind, message, blamed = told[1 - sender]
    assert (kind, blamed) == ("FormatError", sender), message
    if sender == 1:
        assert told[1][0] == "MismatchError"
        assert "rank 1 has sent what no rank sends: a card" in told[1][1]


@pytest.mark.parametrize("garbled", [b"", b"{", b"\xff\xfe\n", b"[]\n", b'{"algorithm": 3}\n'])
def test_a_garbled_recipe_names_the_rank_that_chose(garbled: bytes) -> None:
    told = hm.launch(work.recipe, 3, garbled, timeout_s=LIMIT_S)
    assert {kind for kind, _, _ in told} <= {"FormatError", "LostRankError"}
    assert "FormatError" in {kind for kind, _, _ in told}
    (blamed,) = {rank for _, _, rank in told}
    assert all(f"rank {blamed} has sent what no rank sends: a recipe" in message for _, message, _ in told)


def _damaged(data: bytes, draw: random.Random) -> bytes:
    bytes_of = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(bytes_of))
        match draw.randrange(4):
            case 0:
                bytes_of[at] ^= 1 << draw.randrange(8)
            case 1:
                del bytes_of[at : at + draw.randint(1, 30)]
            case 2:
                bytes_of[at:at] = draw.choice([b"null", b"[]", b"{}", b"1e999", b"-1", b'"x"', b",", b"\n"])
            case _:
                bytes_of[at:at] = bytes_of[draw.randrange(len(bytes_of)) :][: draw.randint(1, 40)]
        if not bytes_of:
            break
    return bytes(bytes_of)


def fuzz_recipes(seed: int) -> None:
    """Read a recipe that has been damaged: it is read, or refused with a FormatError."""
    draw = random.Random(seed)
    ring = hm.algorithms.all_reduce_ring(4)
    recipe = draw.choice(
        [
            Recipe("all_reduce_ring", {"rank_count": 4}),
            Recipe("brought", {}, ring),
            Recipe("all_reduce_ring", {"rank_count": 4}, late=LateHabit(1.0, 8)),
        ]
    )
    try:
        read = Recipe.from_bytes(_damaged(recipe.to_bytes(), draw))
    except hm.errors.FormatError:
        return
    assert isinstance(read.algorithm, str)


def test_damaged_recipes_are_read_or_refused() -> None:
    for seed in range(1500):
        fuzz_recipes(seed)


def test_words_are_checked_by_whoever_reads_them() -> None:
    assert read_words(b"[1, 2]", 3, "a list", list) == [1, 2]
    with pytest.raises(hm.errors.FormatError, match="rank 3 has sent what no rank sends: a list of 1 bytes"):
        read_words(b"7", 3, "a list", list)
