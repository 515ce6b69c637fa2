# SPDX-License-Identifier: Apache-2.0
"""Damaged files through the command line: a sample of what benchmarks/fuzz_cli.py runs in full."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from fuzz_cli import answer_of, placed
from fuzz_mutations import Corpus

SEED, COUNT = 20, 120


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus(tmp_path_factory.mktemp("corpus"))


def test_damaged_files_are_answered_or_refused_in_one_line(corpus: Corpus, tmp_path: Path) -> None:
    tally = {"answered": 0, "refused": 0}
    for index in range(COUNT):
        case = corpus.case(SEED, index)
        arguments = placed(case, tmp_path)
        verdict, why = answer_of(arguments)
        assert verdict in tally, (
            f"python benchmarks/fuzz_cli.py --seed {SEED} --only {index}: {arguments}: {verdict}: {why}"
        )
        tally[verdict] += 1
    assert min(tally.values()) > COUNT / 20, tally


def test_the_same_numbers_give_the_same_case(corpus: Corpus, tmp_path: Path) -> None:
    other = Corpus(tmp_path).case(SEED, 7)
    assert other.content == corpus.case(SEED, 7).content
    assert other.arguments[0] == corpus.case(SEED, 7).arguments[0]
