# SPDX-License-Identifier: Apache-2.0
"""`hemiola topology show | convert | draw`."""

import subprocess
import sys
from pathlib import Path

import pytest

import hemiola as hm
from hemiola import topologies

ROOT = Path(__file__).parent.parent.parent
CLUSTER = ROOT / "examples" / "cluster8.yaml"
DATA = ROOT / "tests" / "topology" / "data"
REFUSED = ROOT / "tests" / "topology" / "corpus" / "refused"


def test_show_says_what_there_is(hemiola):
    ran = hemiola("topology", "show", CLUSTER)
    assert ran.code == 0
    assert "eight hosts behind a switch: 8 ranks, 1 switch, 16 links" in ran.out
    assert "200 MB/s" in ran.out
    assert "every rank reaches every other, over 2 links at most" in ran.out


def test_show_as_json(hemiola):
    data = hemiola("topology", "show", CLUSTER, "--json").data
    assert (data["rank_count"], data["switch_count"], data["hops"], data["is_connected"]) == (8, 1, 2, True)
    cost = {"latency_s": 5e-5, "bandwidth": 2e8, "message_s": 0.0}
    read = {"is_latency_assumed": False, "is_bandwidth_assumed": False, "is_message_assumed": False}
    assert data["link_kinds"] == [{"ends": "rank - switch", "count": 16, **cost, **read}]
    assert (data["vertices"], data["lacking"]) == ([], [])
    assert (data["launch_s"], data["is_launch_assumed"]) == (0.0, False)
    assert data["out_bandwidth"] == {"min": 2e8, "max": 2e8}


def test_show_marks_the_launch_and_messages_that_no_file_states(hemiola):
    ran = hemiola("topology", "show", DATA / "h100_four.xml")
    assert "a launch takes  6.6 us*" in ran.out
    assert "300 ns*" in ran.out
    data = hemiola("topology", "show", DATA / "h100_four.xml", "--json").data
    assert (data["launch_s"], data["is_launch_assumed"]) == (6.6e-6, True)
    assert all(kind["is_message_assumed"] == (kind["message_s"] > 0) for kind in data["link_kinds"])


def test_show_says_who_does_not_reach_whom(hemiola, tmp_path):
    path = tmp_path / "halves.yaml"
    hm.Topology(2, [(0, 1, 0.0, 1e9)]).save(path)
    ran = hemiola("topology", "show", path)
    assert ran.code == 1
    assert (
        "rank 1 does not reach rank 0, though 0 reaches 1: a link goes one way unless it says both_ways"
        in ran.out
    )
    asked = hemiola("topology", "show", path, "--json")
    assert (asked.code, asked.data["is_connected"]) == (1, False)


def test_hosts_written_by_hand_with_one_cable_too_few_are_no_success(hemiola, tmp_path):
    path = tmp_path / "hosts.yaml"
    path.write_text(
        "ranks: 4\nnodes: [0, 0, 1, 1]\nlatency: 1 us\nbandwidth: 10 GB/s\nlinks:\n"
        "  - {src: 0, dst: 1, both_ways: true}\n  - {src: 2, dst: 3, both_ways: true}\n"
    )
    ran = hemiola("topology", "show", path)
    assert ran.code == 1
    assert "disconnected: rank 0 does not reach rank 2\n" in ran.out


def test_convert_writes_yaml_that_loads_equal(hemiola, tmp_path):
    for source in sorted(DATA.iterdir()):
        target = tmp_path / "out.yaml"
        assert hemiola("topology", "convert", source, target).code == 0
        assert hm.Topology.load(target) == hm.Topology.load(source)


def test_convert_prints_yaml_where_no_file_is_named(hemiola):
    ran = hemiola("topology", "convert", CLUSTER)
    assert hm.Topology.from_yaml(ran.out) == hm.Topology.load(CLUSTER)


def test_convert_as_json_lists_links(hemiola):
    data = hemiola("topology", "convert", CLUSTER, "--json").data
    rows = [tuple(r[key] for key in hm.Topology.load(CLUSTER).links.dtype.names) for r in data["links"]]
    assert rows == hm.Topology.load(CLUSTER).links.tolist()


def test_convert_leaves_out_repeats_and_unwinds_in_this_order(hemiola):
    ran = hemiola("topology", "convert", CLUSTER, "--without-ranks", "3,7", "--repeat", "2", "--unwind", "2")
    whole = hm.Topology.load(CLUSTER)
    expected = whole.without_ranks([3, 7]).repeated(2, shared=[6]).unwind_switches(2)
    assert hm.Topology.from_yaml(ran.out) == expected
    assert expected.rank_count == 12


def test_speeds_that_nvidia_smi_does_not_print_can_be_given(hemiola):
    data = hemiola(
        "topology",
        "show",
        DATA / "dgx_a100.topo",
        "--nvlink-bandwidth",
        "25GB/s",
        "--nic-bandwidth",
        "200Gbit/s",
        "--json",
    ).data
    assert {kind["bandwidth"] for kind in data["link_kinds"]} == {300e9, 25e9, 24e9, 16e9}


def test_draw_writes_a_picture(hemiola, tmp_path):
    picture = tmp_path / "cluster.png"
    ran = hemiola("topology", "draw", CLUSTER, picture)
    assert ran.code == 0
    assert str(picture) in ran.out.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert hemiola("topology", "draw", CLUSTER, picture, "--json").data["picture"] == str(picture)


@pytest.mark.parametrize(
    "name", ["alias_bomb.yaml", "billion_laughs.xml", "ragged.topo", "random_bytes.yaml"]
)
@pytest.mark.parametrize("command", ["show", "convert"])
def test_hostile_files_are_the_users_mistake(hemiola, command, name):
    assert hemiola("topology", command, REFUSED / name).is_users_mistake()


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "no/such/file.yaml"),
        ("show", "nul\0byte"),
        ("show", ROOT),
        ("show", CLUSTER, "--nic-bandwidth", "25 GB/s"),
        ("show", CLUSTER, "--nic-bandwidth", "fast"),
        ("convert", CLUSTER, "--without-ranks", "8"),
        ("convert", CLUSTER, "--without-ranks", "x"),
        ("convert", CLUSTER, "--repeat", "0"),
        ("convert", CLUSTER, "--unwind", "0"),
        ("convert", CLUSTER, "--unwind", "-1"),
        ("convert", CLUSTER, "/no/such/folder/out.yaml"),
        ("draw", CLUSTER, "cluster.bmp"),
        ("draw", CLUSTER, "/no/such/folder/cluster.png"),
        ("draw", CLUSTER),
        ("frobnicate", CLUSTER),
    ],
    ids=lambda arguments: " ".join(Path(str(a)).name for a in arguments).replace("\0", "0"),
)
def test_bad_arguments_are_the_users_mistake(hemiola, arguments):
    ran = hemiola("topology", *arguments)
    assert ran.is_users_mistake(), (ran.code, ran.out, ran.err)


def test_a_topology_without_switches_cannot_be_repeated(hemiola, tmp_path):
    path = tmp_path / "ring.yaml"
    topologies.ring(4, latency_s=1e-6, bandwidth=1e9).save(path)
    ran = hemiola("topology", "convert", path, "--repeat", "2")
    assert ran.is_users_mistake()
    assert "has none" in ran.err


MATRICES = sorted(path for path in DATA.iterdir() if path.suffix == ".topo")


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda path: path.name)
def test_hosts_from_nvidia_smi_are_joined_at_nics_or_not_at_all(hemiola, tmp_path, matrix):
    """Without a speed for NICs there are none in the topology, and its last switch is inside the host."""
    ran = hemiola("topology", "convert", matrix, "--repeat", "2")
    assert ran.is_users_mistake()
    assert "--nic-bandwidth '200 Gbit/s'" in ran.err
    assert hemiola("topology", "convert", matrix, tmp_path / "one.yaml").code == 0
    ran = hemiola("topology", "convert", tmp_path / "one.yaml", "--repeat", "2")
    assert ran.is_users_mistake(), "the way over YAML leads to the same"
    assert "has none" in ran.err or "is part of the host" in ran.err


def test_hosts_from_nvidia_smi_with_nics_are_joined_at_their_network(hemiola, tmp_path):
    matrix, rack = DATA / "dgx_a100.topo", tmp_path / "rack.yaml"
    assert (
        hemiola("topology", "convert", matrix, rack, "--repeat", "2", "--nic-bandwidth", "25 GB/s").code == 0
    )
    made = hm.Topology.load(rack)
    assert (made.rank_count, made.node_count) == (16, 2)
    # 4 NICs of 25 GB/s lead from each host to the network, the last vertex, and nothing else does.
    into = made.links[made.links["dst"] == made.rank_count + made.switch_count - 1]
    assert into["bandwidth"].tolist() == [25e9] * 8


def test_a_network_of_655360_ranks_is_shown_in_little_memory(tmp_path):
    path = tmp_path / "wide.yaml"
    path.write_text("topology: mesh\ndims: [10, 65536]\nlatency: 1 us\nbandwidth: 10 GB/s\n")
    program = (
        "import sys\n"
        "from hemiola.cli import main\n"
        "assert main(['topology', 'show', sys.argv[1]]) == 0\n"
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    # 2.5 million links of 24 bytes, as they are built, kept, and seen by NumPy
    assert int(ran.stdout.splitlines()[-1]) < 450 << 10
