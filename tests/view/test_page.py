# SPDX-License-Identifier: Apache-2.0
"""Pages to explore: the numbers in the file, without a browser, and input that makes no page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemiola as hm
from hemiola.view.page.packing import column, ragged, ticks
from measured_like import measured_like

SWITCH = hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9)


def data_of(page: Path) -> dict[str, Any]:
    return json.loads(re.search(r"const data = (.*);\n", page.read_text("utf-8"))[1])


def unpacked(packed: list[str]) -> list[int]:
    return np.frombuffer(zlib.decompress(base64.b64decode(packed[1])), "<" + packed[0]).tolist()


@pytest.mark.parametrize(("largest", "letter"), [(0, "u1"), (255, "u1"), (256, "u2"), (65536, "u4")])
def test_a_column_takes_the_smallest_type(largest: int, letter: str) -> None:
    packed = column([0, largest])
    assert packed[0] == letter
    assert unpacked(packed) == [0, largest]


def test_rows_of_different_lengths_are_two_columns() -> None:
    assert [unpacked(one) for one in ragged([[1, 2], [], [3]])] == [[2, 0, 1], [1, 2, 3]]


def test_times_are_within_half_a_tick() -> None:
    times = np.array([0.0, 1e-3, 0.7, 1.0])
    assert np.abs(ticks(times, 1.0) / 2**24 - times).max() <= 2**-25


def test_the_page_has_every_transfer_with_its_times(tmp_path: Path) -> None:
    schedule = hm.algorithms.all_reduce_ring(4)
    timeline = hm.simulate(schedule, SWITCH, 1 << 20, hm.Conditions(late={2: 1e-3}, slow={1: 2.0}))
    data = data_of(hm.explore(timeline, tmp_path / "ring.html"))
    (run,) = data["runs"]
    assert (data["ranks"], run["count"], data["chunks"]) == (4, schedule.transfer_count, 4)
    assert (data["late"], data["slow"]) == ({"2": 1e-3}, {"1": 2.0})
    assert "rank 2 is late by 1 ms" in data["subtitle"]
    tick = timeline.seconds / data["ticks"]
    begin = np.cumsum(unpacked(run["begin"]))
    assert begin[0] == 0
    assert max(begin + unpacked(run["land"])) * tick == pytest.approx(timeline.seconds, rel=1e-6)
    assert np.array(unpacked(run["finish"])) * tick == pytest.approx(timeline.finish_s, rel=1e-6)
    pairs = list(zip(unpacked(data["pairSrc"]), unpacked(data["pairDst"]), strict=True))
    rows = zip(unpacked(run["pair"]), unpacked(run["chunk"]), unpacked(run["step"]), strict=True)
    found = {(*pairs[pair], chunk, step) for pair, chunk, step in rows}
    transfers = np.asarray(schedule.transfers)
    assert found == {tuple(row) for row in transfers[["src", "dst", "chunk", "step"]].tolist()}
    bound = hm.lower_bound(SWITCH, "all_reduce", 1 << 20, timeline.conditions)
    assert data["bound"] == bound.seconds


def test_a_route_leads_from_the_source_to_the_destination(tmp_path: Path) -> None:
    torus = hm.topologies.torus([3, 3], latency_s=1e-6, bandwidth=1e9)
    data = data_of(hm.explore(hm.algorithms.all_reduce_direct(9), tmp_path / "x.html", torus, 9000))
    lengths, links = (unpacked(one) for one in data["routes"])
    ends = list(zip(unpacked(data["linkSrc"]), unpacked(data["linkDst"]), strict=True))
    at = 0
    pairs = list(zip(unpacked(data["pairSrc"]), unpacked(data["pairDst"]), strict=True))
    for (src, dst), length in zip(pairs, lengths, strict=True):
        way = [ends[link] for link in links[at : at + length]]
        at += length
        assert way[0][0] == src
        assert way[-1][1] == dst
        assert all(before[1] == after[0] for before, after in pairwise(way))
    assert max(lengths) == 2


def test_a_slow_rank_uses_its_links_for_longer(tmp_path: Path) -> None:
    # Given: rank 0 sends to rank 1, at half speed. Expect: its link into the switch is in use nearly all the time.
    given = hm.algorithms.broadcast_chain(2)
    switch = hm.topologies.switch(2, latency_s=0, bandwidth=1e9)
    timeline = hm.simulate(given, switch, 1 << 20, hm.Conditions(slow={0: 2.0}))
    data = data_of(hm.explore(timeline, tmp_path / "x.html"))
    use = np.array(unpacked(data["runs"][0]["linkUse"])) / data["wholeTime"]
    out = unpacked(data["linkSrc"]).index(0)
    assert use[out] == pytest.approx(1, abs=0.01)


def test_a_plan_has_its_topology_and_conditions(tmp_path: Path) -> None:
    plan = hm.plan(SWITCH, "all_reduce", 1 << 20, hm.Conditions(late={3: 1e-3}))
    data = data_of(hm.explore(plan, tmp_path / "plan.html"))
    assert data["title"].endswith(plan.name)
    assert data["length"] == pytest.approx(plan.seconds)


def test_names_cannot_leave_their_place_in_the_script(tmp_path: Path) -> None:
    topology = hm.topologies.switch(2, latency_s=0, bandwidth=1e9).replaced(name="</script><b>\u2028")
    page = hm.explore(hm.algorithms.all_gather_ring(2), tmp_path / "x.html", topology, 8, title="<i>&")
    assert page.read_text("utf-8").count("</script>") == 1
    assert data_of(page)["title"] == "all_gather: <i>&"


def test_64_ranks_take_less_than_half_a_megabyte_also_with_a_run_beside_them(tmp_path: Path) -> None:
    hosts = hm.topologies.dgx_h100(8)
    timeline = hm.simulate(hm.algorithms.all_reduce_direct(64), hosts, 64 << 20)
    assert hm.explore(timeline, tmp_path / "x.html").stat().st_size < 250_000
    both = hm.explore(timeline, tmp_path / "both.html", measured=measured_like(timeline))
    assert both.stat().st_size < 500_000


def test_a_real_run_stands_beside_the_prediction(tmp_path: Path) -> None:
    # Given: every message takes 1 to 1.5 times its predicted time, and begins after 1.25 times.
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(4), SWITCH, 1 << 20)
    data = data_of(hm.explore(timeline, tmp_path / "x.html", measured=measured_like(timeline)))
    told, real = data["runs"]
    assert (told["name"], real["name"]) == ("predicted", "measured")
    assert told["seconds"] == timeline.seconds
    assert 1.25 * 0.8 < real["seconds"] / told["seconds"] < 1.5
    assert data["length"] == pytest.approx(real["seconds"], rel=1e-2)
    begins = [np.cumsum(unpacked(run["begin"])) * data["length"] / data["ticks"] for run in (told, real)]
    assert begins[1] == pytest.approx(1.25 * begins[0], abs=1e-6 * data["length"])
    use = [np.array(unpacked(run["linkUse"])) for run in (told, real)]
    assert use[1] == pytest.approx(use[0] * told["seconds"] / real["seconds"], abs=1)


def test_above_a_hundred_ranks_hosts_fold(tmp_path: Path) -> None:
    data = data_of(
        hm.explore(
            hm.algorithms.all_gather_ring(128), tmp_path / "x.html", hm.topologies.dgx_h100(16), 1 << 20
        )
    )
    assert data["folds"] == [list(range(8 * host, 8 * host + 8)) for host in range(16)]


def refused(what: str, path: Path, *arguments: Any, error: type[Exception] = hm.ArgumentError) -> None:
    with pytest.raises(error, match=what) as caught:
        hm.explore(*arguments[:1], path, *arguments[1:])
    assert "\n" not in str(caught.value)
    assert not path.is_file() or path.read_text() == "kept"


def test_input_that_makes_no_page_is_one_sentence(tmp_path: Path) -> None:
    ring = hm.algorithms.all_reduce_ring(4)
    page = tmp_path / "x.html"
    refused("no folder", tmp_path / "none" / "x.html", ring, SWITCH, 8)
    refused("found a folder", tmp_path, ring, SWITCH, 8)
    refused("give a topology and a size", page, ring)
    refused("0 bytes", page, ring, SWITCH, 0)
    one = hm.topologies.switch(1, latency_s=0, bandwidth=1e9)
    refused("found 1 rank and no transfer", page, hm.algorithms.all_reduce_ring(1), one, 8)
    refused("at most 4,096 ranks, found 100,000", page, hm.algorithms.gather_direct(100_000), SWITCH, 8)
    refused("its own", page, hm.simulate(ring, SWITCH, 8), SWITCH)


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_simulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hemiola.view.page.page_file.simulate", lambda *_: pytest.fail("simulated"))
    with pytest.raises(hm.ArgumentError, match=r"'/sys/x\.html' cannot be written"):  # by root, either
        hm.explore(hm.algorithms.all_reduce_ring(4), "/sys/x.html", SWITCH, 8)
