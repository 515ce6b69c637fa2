# SPDX-License-Identifier: Apache-2.0
"""What docs/results/levels.md says was met."""

from __future__ import annotations

from printed import report, tables_in


def test_what_is_met_is_within_its_goal() -> None:
    table, differing = tables_in(report("levels"))
    for row in table:
        assert float(row["median"]) <= float(row["worst"]), row
        assert (row["goal"] and float(row["worst"]) <= float(row["goal"])) == (row[""] == "met"), row
        if row["over the bound: median, worst"]:
            median, worst = map(float, row["over the bound: median, worst"].split(", "))
            assert 1 <= median <= worst, row
    for row in differing:
        assert float(row["over the bound"]) >= 1, row
        assert float(row["flat ring"]) >= 1, row
