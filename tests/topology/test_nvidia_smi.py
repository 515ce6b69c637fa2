# SPDX-License-Identifier: Apache-2.0
"""`nvidia-smi topo -m`: NVLinks by their number, the PCIe tree by its levels."""

from pathlib import Path

import networkx as nx
import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.errors import ArgumentError, FormatError
from hemiola.topology.nvidia_smi import from_matrix

DATA = Path(__file__).parent / "data"


def costs(t):
    return {(int(r["src"]), int(r["dst"])): (r["latency_s"], r["bandwidth"]) for r in t.links}


def matrix(*rows):
    """Write rows of cells under GPU0, GPU1, … ."""
    names = [f"GPU{i}" for i in range(len(rows))]
    lines = ["\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity"]
    lines += [f"{name}\t{row}\t0-15\t0" for name, row in zip(names, rows, strict=True)]
    return "\n".join(lines) + "\n\nLegend:\n\n  X    = Self\n"


def test_dgx1_has_its_nvlinks_and_no_pcie():
    t = hm.Topology.load(DATA / "dgx1_v100.topo")
    assert costs(t) == costs(topologies.dgx1(latency_s=0.6e-6, bandwidth=20e9))
    assert (t.switch_count, t.node_count) == (0, 1)


def test_more_nvlinks_than_a_gpu_has_mean_an_nvswitch():
    """Given 8 GPUs, NV12 to each of 7 others: 84 NVLinks; so 12 of them lead to an NVSwitch."""
    t = hm.Topology.load(DATA / "dgx_a100.topo")
    assert t.switch_count == 1
    assert set(costs(t).values()) == {(0.3e-6, 240e9)}


def test_four_gpus_with_four_nvlinks_to_each_other_need_no_switch():
    rows = [" ".join("X" if a == b else "NV4" for b in range(4)) for a in range(4)]
    t = from_matrix(matrix(*rows))
    assert costs(t) == costs(topologies.fully_connected(4, latency_s=0.6e-6, bandwidth=80e9))


def test_nvlink_speed_can_be_given():
    assert costs(from_matrix(matrix("X NV2", "NV2 X"), nvlink_bandwidth=25e9))[0, 1][1] == 50e9


def test_pcie_becomes_a_tree():
    """Given pairs (PIX) of pairs (NODE) of sockets (SYS).

    Derivation: ranks 0-7; pairs meet at 8-11, at 24 GB/s; pairs of pairs at 12, 13; sockets at 14, at 16 GB/s.
    """
    t = hm.Topology.load(DATA / "pcie_eight.topo")
    up = {(r, 8 + r // 2): 24e9 for r in range(8)}
    up |= {(8 + p, 12 + p // 2): 24e9 for p in range(4)} | {(12, 14): 16e9, (13, 14): 16e9}
    both = up | {(b, a): bandwidth for (a, b), bandwidth in up.items()}
    assert {pair: bandwidth for pair, (_, bandwidth) in costs(t).items()} == both


def test_nvlink_pairs_keep_the_pcie_between_pairs():
    """Given two NVLink pairs on two sockets: 0-1 and 2-3 by NVLink, everything else SYS, met at switch 4."""
    t = from_matrix(matrix("X NV4 SYS SYS", "NV4 X SYS SYS", "SYS SYS X NV4", "SYS SYS NV4 X"))
    assert nx.is_strongly_connected(nx.DiGraph(t.to_networkx()))
    assert costs(t)[0, 1] == (0.6e-6, 80e9)
    assert {pair for pair in costs(t) if max(pair) == 4} == {(r, 4) for r in range(4)} | {
        (4, r) for r in range(4)
    }


def test_nics_appear_when_their_speed_is_given_and_their_network_is_the_last_vertex():
    text = (DATA / "dgx_a100.topo").read_text()
    t = from_matrix(text, nic_bandwidth=25e9)
    network = t.rank_count + t.switch_count - 1
    nics = [a for (a, b), cost in costs(t).items() if b == network and cost == (2.5e-6, 25e9)]
    assert len(nics) == 4
    g = nx.DiGraph(t.to_networkx())
    assert nx.shortest_path_length(g, 0, network) == 3  # GPU, bridge (PXB), NIC, network
    assert nx.shortest_path_length(g, 0, nics[0]) == 2


def test_speeds_can_be_given_to_load(tmp_path):
    path = tmp_path / "box.topo"
    path.write_text(matrix("X NV2", "NV2 X"))
    assert costs(hm.Topology.load(path, nvlink_bandwidth=25e9))[0, 1][1] == 50e9
    assert hm.Topology.load(DATA / "dgx_a100.topo", nic_bandwidth=25e9).switch_count > 1


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("what", ["nvlink_bandwidth", "nic_bandwidth"])
def test_speeds_that_are_none_are_refused(what, speed):
    with pytest.raises(ArgumentError, match=f"expected a {what} above 0 B/s and finite"):
        hm.Topology.load(DATA / "dgx1_v100.topo", **{what: speed})


def test_speeds_for_a_file_that_has_its_own_are_refused():
    with pytest.raises(ArgumentError, match="holds its own speeds"):
        hm.Topology.load(DATA / "dgx1_v100.xml", nic_bandwidth=1e9)


def test_one_gpu_is_a_topology():
    assert from_matrix(matrix("X")).link_count == 0


def test_other_lines_colours_and_old_names_do_not_matter():
    text = "hello\n\x1b[4m" + matrix("X SOC", "SOC X").replace("CPU Affinity", "\x1b[0mCPU Affinity")
    assert costs(from_matrix(text)) == costs(from_matrix(matrix("X SYS", "SYS X")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", "found no row such as 'GPU0 X"),
        ("GPU0 X", "line 1: expected a line with the names"),
        ("GPU0 GPU0\nGPU0 X X", "different names"),
        (
            "GPU0 GPU1\nGPU0 X PIX\n",
            "line 1: expected a row of 'GPU1' below the names of the columns, found none",
        ),
        (
            "GPU0 GPU1\nGPU0 X PIX\nGPU2 PIX X",
            "line 3: found a row of 'GPU2', which is none of the columns in line 1",
        ),
        ("GPU0 GPU1\nGPU0 X\nGPU1 PIX X", "line 2: expected 2 cells in the row of 'GPU0', found 1"),
        (matrix("X NEAR", "NEAR X"), "line 2: expected NV<count>, PIX"),
        (matrix("X NV0", "NV0 X"), "found 'NV0'"),
        (matrix("X NV999", "NV999 X"), "found 'NV999'"),
        (matrix("X PIX", "SYS X"), "GPU0 to GPU1: PIX, GPU1 to GPU0: SYS"),
        (matrix("X PIX", "PIX PIX"), "line 3: expected X where a device meets itself"),
    ],
)
def test_bad_matrices_are_refused(text, words):
    with pytest.raises(FormatError, match=words) as caught:
        from_matrix(text, "'x'")
    assert "\n" not in str(caught.value)
