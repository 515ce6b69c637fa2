# SPDX-License-Identifier: Apache-2.0
"""The benchmark of real steps: its settings, what a step's time is, errors, gains and the page."""

from __future__ import annotations

import pytest

import real_steps_page
import real_steps_rows as rows_module
from real_steps_rows import LOCAL, Place, Setting, gains, row_of, settings, steps_of, summary


def setting(fault: str = "none", split: str = "DDP") -> Setting:
    return Setting(LOCAL, split, fault)


def test_there_are_at_least_24_settings_with_both_libraries_and_every_fault() -> None:
    found = list(settings())
    assert len(set(found)) == len(found) >= 12
    assert {one.fault for one in found} == set(rows_module.FAULTS)
    assert {one.split for one in found} == set(rows_module.SPLITS)
    assert all(one.place.rate for one in found if one.fault == "slow NIC")


def test_a_step_goes_from_the_last_end_to_the_last_end() -> None:
    assert steps_of([[0.0, 1.0, 5.0], [0.5, 2.0, 4.0]]) == pytest.approx([1.5, 3.0])


def test_faults_are_the_last_rank_and_the_last_hosts_nic() -> None:
    hosts = Place(2, 2, "1gbit")
    assert Setting(hosts, "DDP", "late rank").conditions.late == {3: rows_module.LATE_S}
    assert Setting(hosts, "DDP", "slow NIC").conditions.slow == {"nic:1/nic0": rows_module.SLOWER}
    assert not Setting(hosts, "DDP", "none").conditions.in_words()


def test_errors_are_the_predictions_and_gains_are_shares_of_gloos_step() -> None:
    rows = [
        row_of(setting(), "gloo", [2.0, 1.0, 9.0], 2.2),
        row_of(setting(), "hemiola", [1.0, 1.0, 1.0], 0.88),
        row_of(setting("late rank"), "gloo", [1.0], 1.0),
    ]
    assert [row["error"] for row in rows] == pytest.approx([0.1, -0.12, 0.0])
    (gain,) = gains(rows)
    assert (gain["measured"], gain["promised"], gain["points"]) == pytest.approx((50.0, 60.0, 10.0))


@pytest.mark.parametrize(
    ("told_s", "is_met", "median"), [((1.05, 0.96), True, 0.045), ((1.3, 1.0), False, 0.15)]
)
def test_a_target_is_met_by_the_median_the_worst_and_the_gains(
    told_s: tuple[float, float], is_met: bool, median: float
) -> None:
    rows = [row_of(setting(), name, [1.0], s) for name, s in zip(("gloo", "hemiola"), told_s, strict=True)]
    found = summary(rows)
    assert (found["is_met"], found["median_error"]) == (is_met, pytest.approx(median))


def test_the_page_names_misses_and_keeps_its_last_section() -> None:
    rows = [row_of(setting(), name, [1.0, 1.2], 1.6) for name in ("gloo", "hemiola")]
    text = real_steps_page.page(rows, 0.5, f"old\n\n{real_steps_page.BEHIND}\n\nBy hand.\n")
    assert "| 4 local | DDP | none | gloo | 1,100 (1,000 to 1,200) | 1,600 | **+45.5 %** |" in text
    assert text.count("**missed**") == 2  # both errors; the gains agree
    assert "old" not in text
    assert text.endswith(f"{real_steps_page.BEHIND}\n\nBy hand.\n")
