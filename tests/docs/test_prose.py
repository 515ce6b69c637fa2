# SPDX-License-Identifier: Apache-2.0
"""README, docs and docstrings are plain."""

import pages
import prose
import pytest
from prose import Text, texts


def test_sentences_stand_outside_of_code_tables_and_headings() -> None:
    page = (
        "# A title is no sentence\n\nOne rank is late, e.g. rank 3. `hm.plan(a, b)` knows it\ntoo.\n\n"
        "| a table | is | none |\n|---|---|---|\n| a | b | c |\n\n- A list has some. Here are two.\n\n"
        "```sh\nno code has either\n```\n"
    )
    assert pages.sentences(page) == [
        "One rank is late, e.g. rank 3.",
        "CODE knows it too.",
        "A list has some.",
        "Here are two.",
    ]


def test_a_docstring_has_a_paragraph_for_each_parameter_and_no_examples() -> None:
    docstring = """Return the sum.

    Parameters
    ----------
    x, y : int. The numbers
        to add up.
    z : int
        Another one that is added.

    Examples
    --------
    No sentence of these counts.
    """
    assert pages.sentences(prose.as_markdown(docstring)) == [
        "Return the sum.",
        "The numbers to add up.",
        "Another one that is added.",
    ]


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("It sends what a NIC carries.", 1),
        ("What is late waits for whoever comes last.", 2),
        ("Who waits leaves its core to others, and who copies does not.", 2),
        ("The message names who is missing.", 1),
        ("It depends on where the cores are.", 1),
        ("A rank that waits leaves its core to hosts where ranks copy, whose cores are idle.", 0),
        ("The ranks to whom it sends are late.", 0),
        ("What happens when a rank dies?", 0),
    ],
)
def test_free_relatives_are_counted(sentence: str, count: int) -> None:
    assert len(prose.free_relatives(sentence)) == count


def test_a_text_with_long_sentences_or_free_relatives_is_not_plain() -> None:
    plain = ("The planner returns the fastest schedule.",) * 99
    assert Text("", plain).is_plain
    assert Text("", (*plain, "word " * 41)).is_plain  # 1 % of 100 sentences
    assert not Text("", (*plain[:50], "word " * 41)).is_plain
    assert not Text("", (*plain, *["It sends what it has."] * 4)).is_plain
    assert not Text("", ("word " * 16,)).is_plain


@pytest.mark.parametrize("name", texts())
def test_a_text_is_plain(name: str) -> None:
    text = texts()[name]
    assert text.is_plain, f"{text.figures}, at most {text.bounds}: python scripts/prose.py {name}"
