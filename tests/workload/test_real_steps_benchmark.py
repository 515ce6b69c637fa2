# SPDX-License-Identifier: Apache-2.0
"""The benchmark of real steps: its settings, what a step's time is, errors, gains and the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm
import real_steps
import real_steps_page
import real_steps_rows as rows_module
from hemiola.workload import transformer
from real_steps_rows import (
    LOCAL,
    Place,
    Setting,
    call_of,
    gains,
    predicted,
    row_of,
    settings,
    steps_of,
    summary,
)

NETWORK = hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9)


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


def test_a_calls_software_is_its_time_beyond_the_networks_part() -> None:
    """Given: an all-reduce of 8 bytes on 4 ranks, by gloo's ring. Expect: less by six hops of 1 µs and of a chunk."""
    found = call_of(LOCAL, "gloo", 1e-3, NETWORK)
    assert found["network_s"] == pytest.approx(6e-6, rel=0.01)
    assert found["software_s"] == pytest.approx(1e-3 - found["network_s"])
    assert call_of(LOCAL, "hemiola", 1e-9, NETWORK)["software_s"] == 0.0


def test_each_rank_has_two_elements_of_a_measured_call() -> None:
    assert all(2 * place.ranks <= rows_module.CALL_BYTES for place in rows_module.PLACES)


@pytest.mark.parametrize("library", rows_module.LIBRARIES)
def test_each_library_pays_its_own_software(library: str) -> None:
    model = transformer(2, 64, vocabulary=0)
    free, paid = (
        predicted(setting(), {"library": library, "software_s": told}, model, 0.0, NETWORK)
        for told in (0.0, 1.0)
    )
    assert paid == pytest.approx(free + 1.0, rel=1e-3)


class Job:
    """Answers orders as ranks do, and remembers them."""

    def __init__(self) -> None:
        self.orders: list[dict[str, Any]] = []

    def ask(self, **order: Any) -> list[dict[str, Any]]:
        self.orders.append(order)
        return [{"ends": [0.0, 1.0, 3.0, 4.0]}] * 2


def test_a_folder_of_steps_alone_gets_the_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"place": str(LOCAL), "seconds": [1.0]}]
    (tmp_path / "measured.json").write_text(json.dumps(steps))
    job = Job()

    @contextmanager
    def started(*_: object) -> Iterator[Job]:
        yield job

    monkeypatch.setattr(real_steps, "job_on", started)
    monkeypatch.setattr(real_steps, "calibrate", lambda *_: None)
    for _ in range(2):
        real_steps.measure_all(real_steps.Measured(tmp_path), 5, [LOCAL])
    assert [order.get("library") for order in job.orders] == [None, "gloo", "hemiola"]
    found = real_steps.Measured(tmp_path)
    assert (found.steps, found.calls) == (steps, {str(LOCAL): {"gloo": 1.0, "hemiola": 1.0}})


@pytest.mark.parametrize(
    ("files", "words"),
    [({}, "expected measured.json"), ({"measured.json": [{"place": str(LOCAL)}]}, "no calls there")],
)
def test_a_folder_that_lacks_something_is_not_predicted_from(
    tmp_path: Path, files: dict[str, Any], words: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(SystemExit, match=words):
        real_steps.rows_of(real_steps.Measured(tmp_path))


def test_the_page_names_misses_and_keeps_its_last_section() -> None:
    rows = [row_of(setting(), name, [1.0, 1.2], 1.6) for name in ("gloo", "hemiola")]
    calls = [call_of(LOCAL, "gloo", 1.2e-3, NETWORK)]
    text = real_steps_page.page(rows, calls, 0.5, f"old\n\n{real_steps_page.BEHIND}\n\nBy hand.\n")
    assert "| 4 local | DDP | none | gloo | 1,100 (1,000 to 1,200) | 1,600 | **+45.5 %** |" in text
    assert "| 4 local | gloo | 1,200 | 6 |" in text
    assert text.count("**missed**") == 2  # both errors; the gains agree
    assert "old" not in text
    assert text.endswith(f"{real_steps_page.BEHIND}\n\nBy hand.\n")
