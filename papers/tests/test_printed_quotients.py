# SPDX-License-Identifier: Apache-2.0
"""Where a table has a column "a / b" beside the columns a and b, it prints their quotient: of times, or of bytes over
times, whichever the table has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from printed import Row, check_quotient, report, tables

REPORTS = ("stragglar", "optcc", "tacos", "pccl", "spccl", "levels")
#: Of the better of two columns: test_printed_stragglar.py.
ELSEWHERE = {"ring / late": "late, segmented"}


def named(column: str, row: Row) -> str | None:
    """Return the column of this name, whatever its unit."""
    return next((name for name in row if name == column or name.startswith(f"{column}, ")), None)


def quotients(row: Row) -> Iterator[tuple[str, str, str]]:
    """Return each column that is named after two others of a row, and these."""
    for column in row:
        over, slash, under = column.partition(" / ")
        found = named(over, row), named(under, row)
        if slash and found[0] and found[1] and ELSEWHERE.get(column) not in row:
            yield column, found[0], found[1]


def headings(paper: str) -> list[str]:
    return [part.split("\n")[0] + "\n" for part in report(paper).split("\n## ")[1:]]


@pytest.mark.parametrize("paper", REPORTS)
def test_a_column_named_after_two_others_is_their_quotient(paper: str) -> None:
    seen = 0
    for heading in headings(paper):
        for table in tables(paper, heading):
            for row in table:
                for column, over, under in quotients(row):
                    if row[column] != "–":
                        check_quotient(row[column], row[over], row[under], (heading, row))
                        seen += 1
    assert seen or paper in ("optcc", "levels")


@pytest.mark.parametrize("paper", REPORTS)
def test_nothing_that_was_measured_came_out_wrong(paper: str) -> None:
    for heading in headings(paper):
        for row in (row for table in tables(paper, heading) for row in table):
            assert {row.get(column, "0") for column in ("wrong", "violations")} == {"0"}, (heading, row)
