# SPDX-License-Identifier: Apache-2.0
"""Sweeps: each row is the prediction of its question, wherever it is made, and none is made twice."""

from __future__ import annotations

import builtins
import concurrent.futures
import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError, FormatError
from hemiola.sweep import Row, Sweep

SWITCH, TORUS = (
    hm.topologies.switch(4, latency_s=5e-6, bandwidth=25e9),
    hm.topologies.torus([2, 3], latency_s=1e-6, bandwidth=1e9),
)
LATE = hm.Conditions(late={1: 1e-3})
SIZES = [8, 1 << 20]
RING, C_CUBE = "all_reduce_ring", "all_reduce_c_cube"


def small(**more: Any) -> Sweep:
    return hm.sweep({"a": SWITCH, "b": TORUS}, "all_reduce", SIZES, [RING, "plan"], **more)


def test_rows_are_the_predictions_in_the_order_of_the_question() -> None:
    table = hm.sweep([SWITCH, TORUS], ["all_reduce", "all_gather"], SIZES, "plan", [hm.Conditions(), LATE])
    asked = [
        (topology, kind, now, nbytes)
        for topology in (SWITCH, TORUS)
        for kind in ("all_reduce", "all_gather")
        for now in (hm.Conditions(), LATE)
        for nbytes in SIZES
    ]
    assert len(table) == len(asked) == 16
    for row, (topology, kind, now, nbytes) in zip(table, asked, strict=True):
        plan = hm.plan(topology, kind, nbytes, now)
        assert (row.topology, row.collective, row.nbytes) == (topology.name, kind, nbytes)
        assert row.conditions == ("none" if now == hm.Conditions() else "rank 1 late by 1 ms")
        assert (row.seconds, row.bound_s, row.chosen) == (
            plan.seconds,
            plan.bound_s,
            plan.alternatives[0].label,
        )


def test_a_named_algorithm_is_simulated_and_runs_its_own_collective_alone() -> None:
    table = hm.sweep(SWITCH, ["all_gather", "all_reduce"], 1 << 20, [RING, "all_gather_ring"])
    assert [(row.collective, row.algorithm) for row in table] == [
        ("all_gather", "all_gather_ring"),
        ("all_reduce", RING),
    ]
    for row in table:
        schedule = hm.algorithms.get(row.algorithm).generate(4)
        assert row.seconds == hm.simulate(schedule, SWITCH, 1 << 20).seconds


def test_algorithms_of_ones_own_are_schedules_or_functions() -> None:
    schedule = hm.algorithms.all_reduce_ring(4)
    mine = {"mine": schedule, "made": lambda topology, _: hm.algorithms.all_reduce_ring(topology.rank_count)}
    table = hm.sweep(SWITCH, "all_reduce", 1 << 20, {**mine, "theirs": RING})
    assert [row.algorithm for row in table] == ["mine", "made", "theirs"]
    assert len({row.seconds for row in table}) == 1


def test_a_row_that_cannot_be_has_no_time_and_says_why() -> None:
    table = hm.sweep(SWITCH, "all_reduce", 1024, [RING, C_CUBE])
    ring, cube = table
    assert (ring.note, cube.seconds) == ("", None)
    assert "DGX-1" in cube.note
    assert "1 of them not possible" in repr(table)
    assert table.best() == (ring,)


def test_the_best_of_each_question() -> None:
    table = small()
    assert [(row.topology, row.nbytes) for row in table.best()] == [
        (name, size) for name in "ab" for size in SIZES
    ]
    for best in table.best():
        same = [row for row in table if (row.topology, row.nbytes) == (best.topology, best.nbytes)]
        assert best.seconds == min(row.seconds for row in same if row.seconds is not None)


def test_tables_hold_the_rows(tmp_path: Path) -> None:
    table = hm.sweep({"a & b": SWITCH}, "all_reduce", SIZES, [RING, "plan"])
    assert table.to_csv(tmp_path / "x.csv") == (tmp_path / "x.csv").read_text()
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0].split(",")[:3] == ["topology", "collective", "nbytes"]
    assert [float(line.split(",")[5]) for line in lines[1:]] == [row.seconds for row in table]

    read = json.loads(table.to_json(tmp_path / "x.json"))
    assert [Row(**row) for row in read["rows"]] == list(table)
    assert read["network"] == "fluid"

    latex = table.to_latex(tmp_path / "x.tex")
    assert "Size & all\\_reduce\\_ring & plan & Bound" in latex
    assert latex.count("\\textbf") == len(SIZES)
    html = table._repr_html_()
    assert html.count("<tr>") == 1 + len(table)
    assert "a &amp; b" in html


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_libraries_of_tables_take_the_rows(library: str) -> None:
    frame = pytest.importorskip(library).DataFrame(small().rows)
    assert list(frame["seconds"]) == [row.seconds for row in small()]


def counted(calls: list[int], most: int | None = None) -> Callable[..., Iterator[Any]]:
    """Return a map that counts its calls, and ends with an interrupt after so many."""

    def apply(function: Callable[[Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            if most is not None and len(calls) == most:
                raise KeyboardInterrupt
            calls.append(1)
            yield function(value)

    return apply


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    kept, first, second, third = tmp_path / "kept", [], [], []  # type: ignore[var-annotated]
    with pytest.raises(KeyboardInterrupt):
        small(resume=kept, map=counted(first, most=3))
    assert small(resume=kept, map=counted(second)) == small()
    assert (len(first), len(second)) == (3, 1)
    assert small(resume=str(kept), map=counted(third)) == small()
    assert third == []


def test_other_questions_are_asked_anew(tmp_path: Path) -> None:
    kept, calls = tmp_path / "kept", []  # type: ignore[var-annotated]
    small(resume=kept)
    small(resume=kept, map=counted(calls), conditions=LATE)
    small(resume=kept, map=counted(calls), network="fifo")
    assert len(calls) == 8


@pytest.mark.parametrize(
    "text", ["Chapter 1\n", "", "[]", "{}", '{"cells of hemiola.sweep": {"1": [{}]}}', "\0\xff"]
)
def test_a_file_of_something_else_is_neither_read_nor_changed(tmp_path: Path, text: str) -> None:
    other = tmp_path / "thesis.txt"
    other.write_text(text)
    with pytest.raises(FormatError, match="expected a file in which an earlier sweep kept its cells"):
        small(resume=other)
    assert other.read_text() == text


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_share_the_work(start: str) -> None:
    with multiprocessing.get_context(start).Pool(2) as pool:
        assert small(map=pool.imap) == small()


def test_executors_share_the_work() -> None:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert small(map=pool.map) == small()


def _by_joblib(joblib: Any, function: Any, values: Any) -> Any:
    return joblib.Parallel(2)(joblib.delayed(function)(value) for value in values)


def _by_dask(dask: Any, function: Any, values: Any) -> Any:
    return dask.compute(*[dask.delayed(function)(value) for value in values], scheduler="processes")


def _by_ray(ray: Any, function: Any, values: Any) -> Any:
    ray.init(num_cpus=2, include_dashboard=False, ignore_reinit_error=True)
    remote = ray.remote(function)
    return ray.get([remote.remote(value) for value in values])


@pytest.mark.parametrize("library", ["joblib", "dask", "ray"])
def test_other_libraries_share_the_work(library: str) -> None:
    module = pytest.importorskip(library)
    apply = {"joblib": _by_joblib, "dask": _by_dask, "ray": _by_ray}[library]
    assert small(map=lambda function, values: apply(module, function, list(values))) == small()


def test_a_map_that_returns_too_little_is_named() -> None:
    with pytest.raises(ArgumentError, match="expected a result of map for each of 4 values, found 2"):
        small(map=lambda function, values: builtins.map(function, list(values)[:2]))


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no topology": ({"topologies": []}, "at least one topology"),
    "no size": ({"sizes": []}, "at least one size"),
    "no collective": ({"collectives": []}, "at least one collective"),
    "no algorithm": ({"algorithms": []}, "at least one algorithm"),
    "no conditions": ({"conditions": {}}, "at least one set of conditions"),
    "a negative size": ({"sizes": [8, -1]}, "-1"),
    "a size that is no number": ({"sizes": [float("nan")]}, "sizes"),
    "an unknown collective": ({"collectives": "all_redcue"}, "all_redcue"),
    "an unknown algorithm": ({"algorithms": "all_reduce_rnig"}, "all_reduce_rnig"),
    "an algorithm of another collective": ({"algorithms": "all_gather_ring"}, "not among the collectives"),
    "an algorithm that is a number": ({"algorithms": {"mine": 3}}, "'mine' to be a name"),
    "an algorithm that makes none": ({"algorithms": {"mine": lambda *_: 3}}, "returns a Schedule, found int"),
    "an algorithm that makes another": (
        {"algorithms": {"mine": lambda topology, _: hm.algorithms.all_gather_ring(topology.rank_count)}},
        "expected a schedule of all_reduce",
    ),
    "equal names": (
        {"topologies": [SWITCH, SWITCH]},
        "expected different names, found 2 of topology 'switch 4'",
    ),
    "a late rank that is not there": ({"conditions": hm.Conditions(late={9: 1.0})}, "9"),
    "a root that is not there": ({"collectives": "broadcast", "root": 9}, "9"),
    "an unknown network": ({"network": "liquid"}, "'liquid'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_before_anything_is_kept(case: str, tmp_path: Path) -> None:
    wrong, text = BAD[case]
    asked: dict[str, Any] = {"topologies": SWITCH, "collectives": "all_reduce", "sizes": 8} | wrong
    with pytest.raises(ArgumentError, match=text.replace("(", r"\(")) as caught:
        hm.sweep(**asked, resume=tmp_path / "kept")
    assert "\n" not in str(caught.value)
