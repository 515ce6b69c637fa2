# SPDX-License-Identifier: Apache-2.0
"""NICs by name: every reader, writer and copy keeps them, and a slow one is slower links."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import hemiola as hm
from hemiola.algorithms import Task
from hemiola.cli import main
from hemiola.errors import ArgumentError, FormatError
from hemiola.topology.named_nics import settled
from hemiola.topology.port_speed import port_speed

DATA = Path(__file__).parent / "data"


def cluster(nics_per_host=2, ranks_per_host=4, hosts=2):
    return hm.topologies.hosts(
        hosts,
        ranks_per_host,
        nics_per_host,
        latency_s=1e-6,
        bandwidth=100e9,
        nic_latency_s=4e-6,
        nic_bandwidth=10e9,
    )


def ports():
    """Hosts of one rank, each with its NIC."""
    return cluster(nics_per_host=1, ranks_per_host=1, hosts=4)


def bandwidths(topology):
    return topology.links["bandwidth"]


def test_builders_name_the_nics_of_every_host():
    t = cluster()
    assert [(name, host) for name, host, _ in t.nics] == [("nic0", 0), ("nic1", 0), ("nic0", 1), ("nic1", 1)]
    # Ranks 0 and 1 share nic0 of host 0: four links between them and the card, two between the card and the core.
    _, _, links = t.nics[0]
    ends = {frozenset(t.links[["src", "dst"]][link].tolist()) for link in links}
    card, core = 9, t.rank_count + t.switch_count - 1
    assert (len(links), ends) == (6, {frozenset({0, card}), frozenset({1, card}), frozenset({card, core})})
    rack = hm.topologies.dgx_h100(2)
    assert [name for name, host, _ in rack.nics if host == 1] == [f"nic{gpu}" for gpu in range(8)]


def test_a_cable_between_boxes_is_part_of_the_cards_at_both_ends():
    t = hm.topologies.boxes(3, "ring", cable_latency_s=1e-6, cable_bandwidth=1e9)
    assert [(name, host, links) for name, host, links in t.nics] == [
        ("nic0", 0, [0, 1]),
        ("nic1", 0, [4, 5]),
        ("nic0", 1, [0, 1]),
        ("nic1", 1, [2, 3]),
        ("nic0", 2, [2, 3]),
        ("nic1", 2, [4, 5]),
    ]


def test_rows_of_one_name_and_host_are_one_nic_in_the_order_of_hosts_and_numbers():
    links = [(0, 1, 0.0, 1e9), (1, 0, 0.0, 1e9)]
    t = hm.Topology(
        2, links, nics=[("eth10", 0, [1]), ("eth2", 1, [1]), ("eth2", 0, [0]), ("eth10", 0, [0, 1])]
    )
    assert t.nics == [("eth2", 0, [0]), ("eth10", 0, [0, 1]), ("eth2", 1, [1])]


@pytest.mark.parametrize(
    ("nic", "message"),
    [
        (("", 0, [0]), "name of 1"),
        (("a b", 0, [0]), "found 'a b'"),
        (("a/b", 0, [0]), "found 'a/b'"),
        (("é", 0, [0]), "ASCII"),
        (("x" * 65, 0, [0]), "1 … 64"),
        (("eth0", 2, [0]), "expected a host 0 … 1, found 2"),
        (("eth0", 0, [2]), "expected links 0 … 1, found 2"),
        (("eth0", 0, []), "at least one link"),
    ],
)
def test_a_nic_that_cannot_be_is_refused(nic, message):
    with pytest.raises(ArgumentError, match=message):
        hm.Topology(2, [(0, 1, 0.0, 1e9), (1, 0, 0.0, 1e9)], nics=[nic])


@pytest.mark.parametrize("t", [cluster(), hm.topologies.boxes(3, cable_latency_s=0, cable_bandwidth=1e9)])
def test_names_survive_files_graphs_and_pickles(t, tmp_path):
    t.save(tmp_path / "t.yaml")
    assert hm.Topology.load(tmp_path / "t.yaml") == t
    assert hm.Topology.from_networkx(t.to_networkx()) == t
    assert pickle.loads(pickle.dumps(t)) == t


def test_topologies_that_differ_in_names_are_not_equal():
    links = [(0, 1, 0.0, 1e9)]
    assert hm.Topology(2, links, nics=[("eth0", 0, [0])]) != hm.Topology(2, links, nics=[("eth1", 0, [0])])


def test_a_pickle_from_before_nics_had_names_and_messages_a_cost_loads():
    t = hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
    old = hm.Topology.__new__(hm.Topology)
    name, ranks, switches, links, nodes, *_ = t.__getstate__()
    four = links[["src", "dst", "latency_s", "bandwidth"]].copy()
    old.__setstate__((name, ranks, switches, four, nodes))
    assert old == t


def test_yaml_takes_a_nics_host_from_the_rank_at_its_link():
    t = hm.Topology.from_yaml(
        "ranks: 2\nswitches: 2\nlatency: 1 us\nbandwidth: 1 GB/s\nlinks:\n"
        "  - {src: 0, dst: 2, nic: mlx5_0, both_ways: true}\n"
        "  - {src: 1, dst: 2, nic: [1/mlx5_0, eth0]}\n"
        "  - {src: 2, dst: 3, nic: 1/mlx5_0}\n"
    )
    assert t.nics == [("mlx5_0", 0, [0, 1]), ("eth0", 1, [2]), ("mlx5_0", 1, [2, 3])]
    with pytest.raises(FormatError, match=r"line 6.*expected HOST/NAME such as 0/mlx5_0"):
        hm.Topology.from_yaml(
            "ranks: 2\nswitches: 2\nlatency: 1 us\nbandwidth: 1 GB/s\nlinks:\n  - {src: 2, dst: 3, nic: mlx5_0}\n"
        )


def test_readers_keep_what_machines_call_their_nics(tmp_path):
    xml = hm.Topology.load(DATA / "dgx1_v100.xml")
    assert [name for name, _, _ in xml.nics] == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]
    network = xml.rank_count + xml.switch_count - 1
    for _, _, links in xml.nics:
        assert all(network in xml.links[["src", "dst"]][link].tolist() for link in links)
    matrix = DATA / "dgx_a100.topo"
    assert hm.Topology.load(matrix).nics == []
    columns = [name for name, _, _ in hm.Topology.load(matrix, nic_bandwidth=25e9).nics]
    assert columns == ["NIC0", "NIC1", "NIC2", "NIC3"]
    legend = tmp_path / "legend.topo"
    legend.write_text(matrix.read_text() + "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n")
    assert [name for name, _, _ in hm.Topology.load(legend, nic_bandwidth=25e9).nics] == [
        "NIC2",
        "NIC3",
        "mlx5_0",
        "mlx5_bond_0",
    ]


def test_copies_keep_names_with_new_numbers_of_links_and_hosts():
    t = cluster(ranks_per_host=2)  # a NIC for each rank: links 0-3 inside host 0, 4-7 its NICs
    assert t.nics[1] == ("nic1", 0, [6, 7])
    assert t.without_links([(0, t.rank_count)]).nics[1] == ("nic1", 0, [4, 5])
    seven = t.without_ranks([0])
    assert [(name, host) for name, host, _ in seven.nics] == [("nic1", 0), ("nic0", 1), ("nic1", 1)]
    assert [(name, host) for name, host, _ in t.without_ranks([0, 1]).nics] == [("nic0", 0), ("nic1", 0)]
    twice = t.repeated(2, shared=[t.rank_count + t.switch_count - 1])
    assert twice.nics[4:] == [
        (name, host + 2, [link + t.link_count for link in links]) for name, host, links in t.nics
    ]
    assert t.degraded({0: 2.0}).nics == t.with_slow_hosts({0: 2.0}).nics == t.nics


def test_links_that_stand_for_switches_belong_to_the_cards_on_their_way():
    t = cluster(ranks_per_host=1, nics_per_host=1, hosts=3).unwind_switches(1)
    ends = {
        (name, host): [t.links[["src", "dst"]][link].tolist() for link in links]
        for name, host, links in t.nics
    }
    assert ends == {
        ("nic0", 0): [(0, 1), (2, 0)],
        ("nic0", 1): [(0, 1), (1, 2)],
        ("nic0", 2): [(1, 2), (2, 0)],
    }


def test_a_slow_nic_divides_the_bandwidth_of_its_links_both_ways():
    t = cluster()
    slow = t.degraded({"nic:0/nic1": 4.0, "nic:1/nic1": 2.0})
    expected = np.array(bandwidths(t))
    expected[t.nics[1][2]] /= 4
    expected[t.nics[3][2]] /= 2
    assert (bandwidths(slow) == expected).all()


def test_between_two_slow_nics_the_slower_one_counts():
    t = hm.topologies.boxes(2, cable_latency_s=0, cable_bandwidth=6e9)
    assert bandwidths(t.degraded({"nic:0/nic0": 2.0, "nic:1/nic0": 3.0})).tolist() == [2e9, 2e9]


def test_a_name_must_be_known_and_of_one_host():
    t = cluster()
    with pytest.raises(
        ArgumentError, match=r"several hosts have a NIC 'nic1'.*such as '0/nic1'; hosts: 0, 1"
    ):
        t.degraded({"nic:nic1": 2.0})
    with pytest.raises(ArgumentError, match=r"no NIC 'nci1'; did you mean 'nic1'\? It has: nic0, nic1"):
        t.degraded({"nic:nci1": 2.0})
    with pytest.raises(ArgumentError, match=r"no NIC '2/nic1'; did you mean '0/nic1'"):
        t.degraded({"nic:2/nic1": 2.0})
    with pytest.raises(ArgumentError, match="nor any NIC with a name"):
        hm.topologies.ring(4, latency_s=0, bandwidth=1e9).degraded({"nic:nic0": 2.0})
    with pytest.raises(ArgumentError, match="factor of at least 1 for NIC 0/nic1"):
        t.degraded({"nic:0/nic1": 0.5})


def test_conditions_refuse_texts_that_name_no_nic():
    for key in ("nic:", "mlx5_0", "0"):
        with pytest.raises(ArgumentError, match="a rank or a NIC such as 'nic:mlx5_1'"):
            hm.Conditions(slow={key: 2.0})


def test_simulator_bounds_and_planner_see_a_slow_nic_as_slower_links():
    t, slow = cluster(), hm.Conditions(slow={"nic:1/nic0": 3.0})
    slower = t.degraded({"nic:1/nic0": 3.0})
    ring = hm.algorithms.all_reduce_ring(t.rank_count)
    assert hm.simulate(ring, t, 1 << 20, slow).seconds == hm.simulate(ring, slower, 1 << 20).seconds
    assert (
        hm.lower_bound(t, "all_gather", 1 << 20, slow).seconds
        == hm.lower_bound(slower, "all_gather", 1 << 20).seconds
    )
    assert port_speed(t, slow) == port_speed(slower)
    planned = hm.plan(t, "all_reduce", 1 << 20, slow)
    assert planned.seconds == hm.plan(slower, "all_reduce", 1 << 20).seconds
    assert "NIC 1/nic0 is 3 times slower" in planned.explain()


def test_a_nic_that_is_all_its_rank_has_is_a_slow_rank():
    t = ports()
    network, now = settled(t, hm.Conditions(slow={"nic:2/nic0": 2.0}))
    assert network == t
    assert now.slow == {2: 2.0}
    by_rank = hm.plan(t, "all_reduce", 64 << 20, hm.Conditions(slow={2: 2.0}))
    by_nic = hm.plan(t, "all_reduce", 64 << 20, hm.Conditions(slow={"nic:2/nic0": 2.0}))
    assert (by_nic.name, by_nic.seconds) == (by_rank.name, by_rank.seconds)


def test_slow_ranks_and_slow_nics_multiply_where_both_are_said():
    t = ports()
    ring = hm.algorithms.all_gather_ring(4)
    both = hm.simulate(ring, t, 1 << 20, hm.Conditions(slow={"nic:2/nic0": 2.0, 2: 3.0}))
    assert (
        both.seconds
        == hm.simulate(ring, t.degraded({"nic:2/nic0": 2.0}), 1 << 20, hm.Conditions(slow={2: 3.0})).seconds
    )


def test_a_task_without_a_topology_refuses_slow_nics():
    speed, slow = port_speed(ports()), hm.Conditions(slow={"nic:2/nic0": 2.0})
    with pytest.raises(ArgumentError, match="slow NICs are those of a topology"):
        Task("all_reduce", 4, 1024, speed, slow)
    assert Task("all_reduce", 4, 1024, speed, slow, topology=ports()).conditions.slow == {2: 2.0}


def run_cli(*arguments):
    return main([*map(str, arguments)])


def test_the_command_line_shows_names_and_slows_them(tmp_path, capsys):
    file = tmp_path / "cluster.yaml"
    cluster().save(file)
    assert run_cli("topology", "show", file) == 0
    assert "NICs of each host: nic0, nic1" in capsys.readouterr().out
    assert run_cli("simulate", "all_reduce_ring", file, "1MiB", "--slow", "nic:1/nic0=3", "--json") == 0
    slow = hm.Conditions(slow={"nic:1/nic0": 3.0})
    seconds = hm.simulate(hm.algorithms.all_reduce_ring(8), cluster(), 1 << 20, slow).seconds
    assert f'"seconds": {seconds!r}' in capsys.readouterr().out
    assert run_cli("topology", "convert", file, tmp_path / "slow.yaml", "--degrade", "nic:1/nic0=3") == 0
    capsys.readouterr()
    assert hm.Topology.load(tmp_path / "slow.yaml") == cluster().degraded({"nic:1/nic0": 3.0})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nic:nic0=2", "several hosts have a NIC 'nic0'"),
        ("nic:nic7=2", "did you mean 'nic0'?"),
        ("nic:=2", "expected nic:NAME=factor"),
        ("nic:0/nic0", "expected nic:NAME=factor"),
        ("nic:0/nic0=2,nic:0/nic0=3", "given twice"),
        ("nic:0/nic0=half", "expected"),
    ],
)
def test_the_command_line_refuses_what_names_no_nic(text, message, tmp_path, capsys):
    file = tmp_path / "cluster.yaml"
    cluster().save(file)
    assert run_cli("plan", "all_reduce", file, "1MiB", "--slow", text) == 2
    assert message in capsys.readouterr().err


def test_a_file_may_say_that_a_nic_is_slow():
    text = "topology: dgx_h100\nboxes: 2\ndegraded: [[nic:1/nic5, 2]]\n"
    assert hm.Topology.from_yaml(text) == hm.topologies.dgx_h100(2).degraded({"nic:1/nic5": 2.0})


def test_an_emulated_cluster_has_the_slow_nic():
    t = cluster(hosts=2, ranks_per_host=2, nics_per_host=1)
    found = hm.launch(_emulated_bandwidths, 4, emulate=t, conditions=hm.Conditions(slow={"nic:1/nic0": 4.0}))
    assert found[0] == bandwidths(t.degraded({"nic:1/nic0": 4.0})).tolist()


def _emulated_bandwidths():
    comm = hm.init()
    comm.all_reduce(np.ones(16, np.float32))
    if comm.rank == 0:
        comm.degrade({"nic:0/nic0": 2.0})
        with pytest.raises(ArgumentError, match="several hosts"):
            comm.degrade({"nic:nic0": 2.0})
    return comm.topology.links["bandwidth"].tolist()
