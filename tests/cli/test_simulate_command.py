# SPDX-License-Identifier: Apache-2.0
"""`hemiola simulate`: times, links, traces; mistakes."""

import json
from pathlib import Path

import pytest
from broken_files import BROKEN_FILES, CORPUS

import hemiola as hm
from drawn import figures
from hemiola.synthesis import topology_algorithms


def test_times_are_the_simulators(hemiola, cluster: Path) -> None:
    ran = hemiola(
        "simulate", "all_reduce_ring", cluster, "1MiB", "--late", "3=5ms", "--network", "fifo", "--json"
    )
    conditions = hm.Conditions(late={3: 5e-3})
    topology = hm.Topology.load(cluster)
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(4), topology, 1 << 20, conditions, "fifo")
    assert ran.data["seconds"] == timeline.seconds
    assert ran.data["finish_s"] == timeline.finish_s.tolist()
    assert ran.data["bound_s"] == hm.lower_bound(topology, "all_reduce", 1 << 20, conditions).seconds
    assert len(ran.data["links"]) == 8


def test_the_busiest_links_are_as_fast_as_a_slow_port_lets_them_be(hemiola, cluster: Path) -> None:
    ran = hemiola("simulate", "all_reduce_ring", cluster, "1MiB", "--slow", "1=2")
    speed = {line.split()[2]: " ".join(line.split()[3:5]) for line in ran.out.splitlines() if ">" in line}
    lines = [line for line in ran.out.splitlines() if " > " in line]
    slow = [line for line in lines if "1 > " in line or "> 1 " in line]
    assert slow
    assert all("500 MB/s" in line for line in slow), speed
    assert all("1 GB/s" in line for line in lines if line not in slow)


def test_the_summary_names_the_bound_and_the_busiest_links(hemiola, cluster: Path) -> None:
    ran = hemiola("simulate", "all_reduce_ring", cluster, "1MiB")
    assert "times the lower bound" in ran.out
    assert "Busiest links (8 of 8 used)" in ran.out
    assert max(len(line) for line in ran.out.splitlines()) <= 110


@pytest.mark.parametrize("columns", [60, 80])
def test_narrow_tables_still_tell_links_apart(
    hemiola, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, columns: int
) -> None:
    hm.topologies.switch(1_200, latency_s=1e-6, bandwidth=1.2345e9).save(tmp_path / "wide.yaml")
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = hemiola("simulate", "broadcast_binomial", tmp_path / "wide.yaml", "1MiB")
    links = [line for line in ran.out.splitlines() if " > " in line]
    assert max(map(len, links)) <= columns
    assert not any("…" in line for line in links)
    assert len(set(links)) == len(links) == 8


def test_many_ranks_are_summed_up(hemiola, tmp_path: Path) -> None:
    hm.topologies.ring(40, latency_s=1e-6, bandwidth=1e9).save(tmp_path / "ring.yaml")
    ran = hemiola("simulate", "all_gather_ring", tmp_path / "ring.yaml", "1MiB")
    assert "First, last of 40" in ran.out


def test_a_schedule_file_is_simulated_like_the_algorithm(hemiola, cluster: Path, tmp_path: Path) -> None:
    hm.algorithms.all_reduce_ring(4).save(tmp_path / "ring.sched")
    from_file = hemiola("simulate", tmp_path / "ring.sched", cluster, "1MiB", "--json").data
    by_name = hemiola("simulate", "all_reduce_ring", cluster, "1MiB", "--json").data
    assert from_file == by_name | {"schedule": str(tmp_path / "ring.sched")}


@pytest.mark.parametrize("name", topology_algorithms.names())
def test_algorithms_for_a_topology_are_simulated_by_name(hemiola, tmp_path: Path, name: str) -> None:
    if name.endswith("c_cube"):
        box = hm.topologies.dgx1()
    elif name.endswith("hierarchical"):  # between nodes that all reach each other
        box = hm.topologies.hosts(2, 2, latency_s=0, bandwidth=2e9, nic_latency_s=0, nic_bandwidth=1e9)
    elif name.endswith("mesh_trees"):
        box = hm.topologies.mesh([4, 3], latency_s=0, bandwidth=1e9)
    else:
        box = hm.topologies.ring(4, latency_s=0, bandwidth=1e9)
    box.save(tmp_path / "box.yaml")
    schedule = topology_algorithms.generate(name, box, nbytes=1 << 20)
    assert hm.verify(schedule, topology=box) == []
    ran = hemiola("simulate", name, tmp_path / "box.yaml", "1MiB", "--json")
    assert ran.data["collective"] == topology_algorithms.split(name)[0] == schedule.collective.kind
    assert ran.data["seconds"] == hm.simulate(schedule, box, 1 << 20).seconds


@pytest.mark.parametrize("command", ["verify", "view"])
def test_without_a_topology_they_say_how_to_get_a_file(hemiola, command: str) -> None:
    ran = hemiola(command, "all_gather_forest")
    assert ran.is_users_mistake(), ran
    assert "hemiola synthesize all_gather cluster.yaml --algorithm forest --out" in ran.err


@pytest.mark.parametrize("name", hm.algorithms.names(needs="slow"))
def test_algorithms_for_slow_ranks_are_simulated_by_name(hemiola, tmp_path: Path, name: str) -> None:
    network = hm.topologies.switch(6, latency_s=1e-6, bandwidth=1e9)
    if name in ("all_reduce_uneven_rails", "all_reduce_grid_trees"):
        network = hm.topologies.switch_2d([2, 3], latency_s=1e-6, bandwidth=[4e9, 1e9])
    elif "rail" in name or "pooled" in name:  # three hosts of two ranks
        links = [link for rank in range(6) for link in ((rank, 6, 1e-6, 1e9), (6, rank, 1e-6, 1e9))]
        links += [(rank, rank ^ 1, 1e-6, 4e9) for rank in range(6)]
        network = hm.Topology(6, links, switch_count=1, nodes=[0, 0, 1, 1, 2, 2])
    network.save(tmp_path / "network.yaml")
    slow = "0=2,2=1.5" if "open_shop" in name else "1=2"
    ran = hemiola("simulate", name, tmp_path / "network.yaml", "64MiB", "--slow", slow, "--json")
    assert ran.code == 0
    assert ran.data["collective"] in name
    assert ran.data["seconds"] > 0


@pytest.mark.parametrize("name", ["all_reduce_late", "all_reduce_stragglar"])
def test_algorithms_for_a_late_rank_are_simulated_by_name(hemiola, cluster: Path, name: str) -> None:
    ran = hemiola("simulate", name, cluster, "1MiB", "--late", "3=5ms", "--json")
    assert ran.data["seconds"] > 5e-3
    assert ran.data["collective"] == "all_reduce"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("simulate", "all_reduce_optcc", "CLUSTER", "1MiB"), "--slow 0=2"),
        (("simulate", "all_reduce_late", "CLUSTER", "1MiB", "--slow", "0=2"), "--late 7=50ms"),
        (("simulate", "all_reduce_optcc", "CLUSTER", "1MiB", "--slow", "0=2,1=2"), "expected 1"),
        (("simulate", "all_reduce_rail_exchange", "CLUSTER", "1MiB", "--slow", "0=2"), "does not run"),
        (("verify", "all_reduce_paced_exchange"), "hemiola simulate all_reduce_paced_exchange"),
        (("view", "all_reduce_late", "--ranks", "4"), "hemiola simulate all_reduce_late"),
    ],
)
def test_without_the_ranks_that_they_are_made_for_one_line_says_how_to_name_them(
    hemiola, cluster: Path, arguments: tuple[str, ...], named: str
) -> None:
    ran = hemiola(*(cluster if argument == "CLUSTER" else argument for argument in arguments))
    assert ran.code == 2
    assert named in ran.err
    assert ran.err.count("\n") == 1


def test_a_trace_is_written_for_perfetto(hemiola, cluster: Path, tmp_path: Path) -> None:
    assert (
        hemiola("simulate", "all_reduce_ring", cluster, "1MiB", "--trace", tmp_path / "trace.json").code == 0
    )
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_the_timeline_is_drawn(hemiola, cluster: Path, tmp_path: Path) -> None:
    chart = tmp_path / "timeline.png"
    with figures() as drawn:
        ran = hemiola("simulate", "all_reduce_direct", cluster, "1MiB", "--late", "1=1ms", "--chart", chart)
    assert ran.code == 0
    # Given 1 ms of waiting for rank 1. Expect a time axis that begins at 0 and goes beyond that.
    left, right = drawn[0].axes[0].get_xlim()
    assert left <= 0
    assert right > 1.0
    assert chart.read_bytes().startswith(b"\x89PNG")


def test_nothing_to_send_takes_no_time(hemiola, cluster: Path) -> None:
    assert hemiola("simulate", "all_reduce_ring", cluster, "0", "--json").data["seconds"] == 0


def test_one_rank_is_done_at_once(hemiola, tmp_path: Path) -> None:
    hm.topologies.switch(1, latency_s=1e-6, bandwidth=1e9).save(tmp_path / "one.yaml")
    ran = hemiola("simulate", "all_reduce_ring", tmp_path / "one.yaml", "1MiB")
    assert ran.code == 0
    assert "done after 0 s" in ran.out


def test_a_schedule_for_other_ranks_is_one_line_and_exit_code_2(
    hemiola, cluster: Path, tmp_path: Path
) -> None:
    hm.algorithms.all_reduce_ring(5).save(tmp_path / "five.sched")
    assert hemiola("simulate", tmp_path / "five.sched", cluster, "1MiB").is_users_mistake()


@pytest.mark.parametrize("broken", BROKEN_FILES)
def test_a_file_that_is_no_schedule_is_one_line_and_exit_code_2(
    hemiola, cluster: Path, tmp_path: Path, broken: str
) -> None:
    (tmp_path / "broken.sched").write_bytes(BROKEN_FILES[broken])
    ran = hemiola("simulate", tmp_path / "broken.sched", cluster, "1MiB")
    assert ran.is_users_mistake(), ran


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_the_readers_corpus_never_ends_in_a_traceback(hemiola, path: Path) -> None:
    ran = hemiola("verify", path)
    assert ran.code in (0, 1) or ran.is_users_mistake(), ran


#: Of an all-reduce of 4 ranks only one transfer is there; what is missing first is missing "in step 1", the end.
FIRST_WRONG = {"rule": "missing_contribution", "step": 1, "rank": 0, "chunk": 0}


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A schedule file that keeps no promise."""
    path = tmp_path / "wrong.sched"
    collective = hm.Collective.make("all_reduce", 4, 4)
    hm.Schedule.from_transfers(collective, [(0, 0, 1, 0, True)]).save(path)
    return path


def test_a_wrong_schedule_is_simulated_and_what_is_wrong_first_is_said(
    hemiola, cluster: Path, wrong: Path
) -> None:
    ran = hemiola("simulate", wrong, cluster, "4kB")
    assert ran.code == 1
    assert "done after" in ran.out
    assert "missing_contribution at step 1, rank 0, chunk 0" in ran.out
    told = hemiola("simulate", wrong, cluster, "4kB", "--json").data["violation"]
    assert {key: told[key] for key in FIRST_WRONG} == FIRST_WRONG
    assert hemiola("simulate", "all_reduce_ring", cluster, "4kB", "--json").data["violation"] is None


def test_a_wrong_schedule_is_shown_and_what_is_wrong_first_is_said(hemiola, wrong: Path) -> None:
    ran = hemiola("view", wrong)
    assert ran.code == 1
    assert "0+1" in ran.out
    assert "missing_contribution at step 1, rank 0, chunk 0" in ran.out
    told = hemiola("view", wrong, "--json")
    assert told.code == 1
    assert {key: told.data["violation"][key] for key in FIRST_WRONG} == FIRST_WRONG
    assert len(told.data["transfers"]) == 1


def test_a_wrong_schedule_is_not_run(hemiola, wrong: Path) -> None:
    ran = hemiola("run", "all_reduce", "4kB", "--ranks", 4, "--schedule", wrong)
    assert ran.is_users_mistake(), ran
    assert "'wrong.sched' is wrong: missing_contribution at step 1, rank 0, chunk 0" in ran.err


def test_nothing_to_move_takes_no_time_and_why_is_said(hemiola, cluster: Path) -> None:
    ran = hemiola("simulate", "all_reduce_ring", cluster, "0")
    assert "done after 0 s" in ran.out
    assert "no latency counts" in ran.out
    assert "no latency counts" not in hemiola("simulate", "all_reduce_ring", cluster, "1").out
