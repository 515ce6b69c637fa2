# SPDX-License-Identifier: Apache-2.0
"""What a timeline records, and the Chrome trace that is written from it."""

import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from networks import KB, US, line, microseconds, schedule, switch

import hemiola as hm


def spans_in_us(timeline: hm.Timeline) -> list[tuple[int, int, float, float, float]]:
    return [
        (int(s["transfer"]), int(s["link"]), *(microseconds(s[f]) for f in ("start_s", "end_s", "arrival_s")))
        for s in timeline.spans
    ]


def read_trace(timeline: hm.Timeline, folder: Path) -> list[dict]:
    timeline.save_trace(folder / "trace.json")
    return json.loads((folder / "trace.json").read_text())["traceEvents"]


def test_spans_follow_each_message_over_its_links():
    # Links of the line: 0 is 0 -> 1, 1 is 1 -> 2. 0 -> 2 is transfer 0, 1 -> 2 is transfer 1 (3 kB, first on link 1).
    s = schedule(3, [(0, 0, 2, 0), (0, 1, 2, 1)], chunks=[1, 3])
    timeline = hm.simulate(s, line(3), 4 * KB, network="fifo")
    assert spans_in_us(timeline) == [(0, 0, 0, 1, 2), (0, 1, 3, 4, 5), (1, 1, 0, 3, 4)]
    assert [microseconds(t) for t in timeline.landed_s] == [5, 4]


def test_a_flow_is_filed_under_the_first_link_of_its_path():
    s = schedule(2, [(0, 0, 1, 0)])
    timeline = hm.simulate(s, switch(2), 2 * KB, hm.Conditions(late={1: 3 * US}))
    assert spans_in_us(timeline) == [(0, 0, 3, 5, 6)]


def test_landing_may_be_later_than_arrival():
    s = schedule(2, [(0, 0, 1, 0)])
    timeline = hm.simulate(s, line(2), KB, hm.Conditions(late={1: 7 * US}), "fifo")
    assert microseconds(timeline.spans["arrival_s"][0]) == 2
    assert microseconds(timeline.landed_s[0]) == 7


def test_what_is_left_out_has_no_span_and_never_lands():
    timeline = hm.simulate(schedule(2, [(0, 0, 1, 0), (0, 0, 1, 1)], [0, 1]), line(2), KB)
    assert timeline.spans["transfer"].tolist() == [1]
    assert np.isnan(timeline.landed_s[0])


@pytest.mark.parametrize("network", ["fifo", "fluid"])
def test_recording_changes_nothing(network):
    s, graph = hm.algorithms.all_reduce_bruck(8), switch(8)
    timeline = hm.simulate(s, graph, 64 * KB, hm.Conditions(late={2: US}, slow={5: 2}), network)
    done = timeline.finish_s.copy()
    for t, landed in zip(s.transfers, timeline.landed_s, strict=True):
        assert landed <= done[t["dst"]]
    assert timeline.landed_s.max() == pytest.approx(timeline.seconds, rel=1e-12)


def test_the_trace_has_a_slice_per_message_and_link_and_an_arrow_to_each_landing(tmp_path):
    s = hm.algorithms.all_gather_direct(3)
    events = read_trace(hm.simulate(s, switch(3), 3 * KB, network="fifo"), tmp_path)
    # 6 transfers over 2 links each, and 6 landings.
    assert Counter(e["ph"] for e in events if e["ph"] != "M") == {"X": 18, "s": 6, "f": 6}
    first = next(e for e in events if e["ph"] == "X")
    assert first == {
        "name": "copy chunk 0",
        "ph": "X",
        "pid": 0,
        "tid": first["tid"],
        "ts": 0.0,
        "dur": 1.0,
        "args": {"step": 0, "src": 0, "dst": 1, "chunk": 0, "bytes": 1000},
    }


def test_the_trace_names_ranks_switches_and_links(tmp_path):
    timeline = hm.simulate(hm.algorithms.all_reduce_direct(2), switch(2), 2 * KB, network="fifo")
    events = read_trace(timeline, tmp_path)
    names = {(e["name"], e["pid"]): e["args"]["name"] for e in events if e["name"] in ("process_name",)}
    assert names == {
        ("process_name", 0): "rank 0",
        ("process_name", 1): "rank 1",
        ("process_name", 2): "switch 0",
    }
    threads = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert threads == {
        "received",
        "to switch 0 (link 0)",
        "to switch 0 (link 1)",
        "to rank 0 (link 2)",
        "to rank 1 (link 3)",
    }
    assert {e["name"].split()[0] for e in events if e["ph"] == "X"} == {"add", "copy"}


def test_slices_of_one_thread_do_not_overlap_though_flows_share_a_link(tmp_path):
    now = hm.Conditions(slow={1: 3}, late={2: 2 * US})
    timeline = hm.simulate(hm.algorithms.all_to_all_direct(6), switch(6), 60 * KB, now)
    slices: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for e in read_trace(timeline, tmp_path):
        if e["ph"] == "X" and e["tid"] != 0:
            slices.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
    assert len(slices) > 6
    for spans in slices.values():
        spans.sort()
        assert all(end <= start + 1e-9 for (_, end), (start, _) in itertools.pairwise(spans))


def test_times_are_written_to_the_picosecond(tmp_path):
    # 1 byte at 3 GB/s takes 333.3 ps, and is there after 334.
    graph = hm.Topology(2, [(0, 1, 0, 3e9)])
    timeline = hm.simulate(schedule(2, [(0, 0, 1, 0)]), graph, 1)
    timeline.save_trace(tmp_path / "trace.json")
    assert '"dur":0.000334' in (tmp_path / "trace.json").read_text()


def test_a_file_that_cannot_be_written_is_an_os_error_that_names_it(tmp_path):
    timeline = hm.simulate(schedule(2, [(0, 0, 1, 0)]), line(2), KB)
    with pytest.raises(FileNotFoundError, match=r"'.*nowhere/x.json'"):
        timeline.save_trace(tmp_path / "nowhere" / "x.json")
