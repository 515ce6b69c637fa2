# SPDX-License-Identifier: Apache-2.0
"""The tree of a machine in NCCL's log, with NCCL_DEBUG_SUBSYS=GRAPH."""

from __future__ import annotations

from pathlib import Path

import pytest

import hemiola as hm
from hemiola.errors import FormatError

TREE = """\
=== System : maxBw 240.0 totalBw 240.0 ===
CPU/0-0 (1/2/-1)
+ PCI[24.0] - PCI/0-1000 (1000c0101000a000)
              + PCI[24.0] - GPU/0-7000 ({0})
                            + NVL[240.0] - NVS/0-0
              + PCI[24.0] - NIC/0-b000
                            + NET[25.0] - NET/0-0 (0/0/25.000000)
+ SYS[16.0] - CPU/0-1
CPU/0-1 (1/2/-1)
+ PCI[24.0] - GPU/0-8000 ({1})
              + NVL[240.0] - NVS/0-0
+ SYS[16.0] - CPU/0-0
==========================================
"""


def log(host: str = "node1", process: int = 42, ranks: tuple[int, int] = (0, 1)) -> str:
    tree = TREE.format(*ranks)
    return "".join(f"{host}:{process}:{process} [0] NCCL INFO {line}\n" for line in tree.splitlines())


def load(text: str, tmp_path: Path, **speeds: float) -> hm.Topology:
    path = tmp_path / "log.txt"
    path.write_text(text)
    return hm.Topology.load(path, **speeds)


def by_names(t: hm.Topology) -> dict[tuple[str, str], float]:
    return {(t.names[src], t.names[dst]): rate for src, dst, _, rate, _ in t.links.tolist()}


def test_the_tree_has_gpus_switches_nics_and_what_links_carry(tmp_path: Path) -> None:
    t = load(log(), tmp_path)
    assert (t.rank_count, t.switch_count, t.node_count) == (2, 6, 1)
    there = {
        ("CPU0", "PCIe"): 24e9,
        ("PCIe", "GPU0"): 24e9,
        ("GPU0", "NVSwitch"): 240e9,
        ("PCIe", "NICb000"): 24e9,
        ("NICb000", "network"): 25e9,
        ("CPU0", "CPU1"): 16e9,
        ("CPU1", "GPU1"): 24e9,
        ("GPU1", "NVSwitch"): 240e9,
    }
    assert by_names(t) == {**there, **{(b, a): rate for (a, b), rate in there.items()}}
    assert [name for name, _, _ in t.nics] == ["net0"]


def test_ranks_go_by_the_numbers_in_brackets(tmp_path: Path) -> None:
    t = load(log(ranks=(1, 0)), tmp_path)
    assert ("CPU1", "GPU0") not in by_names(t) or t.names.index("GPU0") == 0
    first = t.links[t.links["src"] == 0]
    assert {t.names[dst] for dst in first["dst"].tolist()} == {"CPU1", "NVSwitch"}


@pytest.mark.parametrize("mark", ["", "# ", "> "])
def test_what_several_processes_write_counts_once(tmp_path: Path, mark: str) -> None:
    """Each process writes the tree, and their lines come mixed."""
    two = [log(process=p).splitlines() for p in (42, 43)]
    mixed = "".join(f"{mark}{a}\n{mark}{b}\n" for a, b in zip(*two, strict=True))
    assert load("other lines\n" + mixed + "more\n", tmp_path) == load(log(), tmp_path)


def test_a_tree_without_what_nccl_puts_before_lines_is_read(tmp_path: Path) -> None:
    assert load(TREE.format(0, 1), tmp_path) == load(log(), tmp_path)


def test_hosts_are_told_apart_by_the_names_before_their_lines(tmp_path: Path) -> None:
    t = load(log("node1", ranks=(0, 1)) + log("node2", ranks=(2, 3)), tmp_path)
    assert t.nodes.tolist() == [0, 0, 1, 1]
    assert t.names[:4] == ["0/GPU0", "0/GPU1", "1/GPU0", "1/GPU1"]
    assert [host for _, host, _ in t.nics] == [0, 1]
    assert hm.plan(t, "all_reduce", 1 << 20).seconds > 0


def test_direct_nvlinks_that_both_ends_list_are_one_link_each_way(tmp_path: Path) -> None:
    tree = "\n".join(
        [
            "=== System : maxBw 40.0 totalBw 40.0 ===",
            "CPU/0 (1/1/2)",
            "+ PCI[12.0] - GPU/7000 (0)",
            "              + NVL[40.0] - GPU/8000",
            "+ PCI[12.0] - GPU/8000 (1)",
            "              + NVL[40.0] - GPU/7000",
        ]
    )
    t = load(tree, tmp_path)
    assert by_names(t)["GPU0", "GPU1"] == 40e9
    assert t.link_count == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("=== System : maxBw 1 ===\n+ PCI[12.0] - GPU/7000 (0)\n", "line 2: expected a CPU above 'GPU/7000'"),
        ("=== System : maxBw 1 ===\nCPU/0 (1/1/2)\n", "expected GPUs in NCCL's tree, found none"),
        (
            "=== System : maxBw 1 ===\nCPU/0 (1/1/2)\n+ PCI[0.0] - GPU/7000 (0)\n",
            "line 3: expected a bandwidth above 0",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        load(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Machine (31GB total)\n  Package L#0\n    NUMANode L#0 (P#0 31GB)\n", "what lstopo writes"),
        (
            '<?xml version="1.0"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">',
            "what lstopo writes",
        ),
        ("topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\n", "a network of ASTRA-sim"),
        ('{"topology-name": "Hierarchical", "dimensions-count": 2}', "a network of ASTRA-sim"),
        ('{"name": "ndv2", "gpus_per_node": 8, "nics_per_node": 1}', "a topology of TACCL"),
        ('{"TopologyParams": {"name": "NDv2", "chassis": 2}}', "a topology of TE-CCL"),
    ],
)
def test_files_of_other_programs_are_refused_with_the_formats_that_are_read(
    tmp_path: Path, text: str, what: str
) -> None:
    with pytest.raises(
        FormatError, match=f"found {what}, which is not read; read are .*nvidia-smi topo -m"
    ) as caught:
        load(text, tmp_path)
    assert "\n" not in str(caught.value)


def test_hemiolas_own_yaml_written_as_json_is_read(tmp_path: Path) -> None:
    text = '{"ranks": 2, "latency": "1 us", "bandwidth": "1 GB/s", "links": [[0, 1], [1, 0]]}'
    assert load(text, tmp_path).link_count == 2
