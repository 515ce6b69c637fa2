# SPDX-License-Identifier: Apache-2.0
"""`rocm-smi --showtopo` and `amd-smi topology`: xGMI links, and the PCIe tree where they do not join all GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

import hemiola as hm
from hemiola.errors import FormatError


def table(title: str, names: list[str], cell) -> str:
    rows = [f"{a}   " + "  ".join(str(cell(i, j)) for j in range(len(names))) for i, a in enumerate(names)]
    return "\n".join([title, "       " + "  ".join(names), *rows, ""])


def rocm(count: int, linked, numa=lambda gpu: 0, hops=lambda a, b: 1) -> str:
    names = [f"GPU{i}" for i in range(count)]
    bar = "=" * 20
    return "\n".join(
        [
            f"{bar} ROCm System Management Interface {bar}",
            table(f"{bar} Weight between two GPUs {bar}", names, lambda a, b: 0 if a == b else 15),
            table(f"{bar} Hops between two GPUs {bar}", names, lambda a, b: 0 if a == b else hops(a, b)),
            table(
                f"{bar} Link Type between two GPUs {bar}",
                names,
                lambda a, b: 0 if a == b else "XGMI" if linked(a, b) else "PCIE",
            ),
            f"{bar} Numa Nodes {bar}",
            *(f"GPU[{i}]\t\t: (Topology) Numa Node: {numa(i)}" for i in range(count)),
            f"{bar} End of ROCm SMI Log {bar}",
        ]
    )


def load(text: str, tmp_path: Path, **speeds: float) -> hm.Topology:
    path = tmp_path / "x.txt"
    path.write_text(text)
    return hm.Topology.load(path, **speeds)


def pairs(t: hm.Topology) -> dict[tuple[int, int], float]:
    return {(src, dst): bandwidth for src, dst, _, bandwidth, _ in t.links.tolist()}


def test_mi300_boxes_are_joined_directly_by_xgmi(tmp_path: Path) -> None:
    t = load(rocm(8, lambda a, b: True), tmp_path)
    assert (t.rank_count, t.switch_count, t.node_count) == (8, 0, 1)
    assert pairs(t) == {(a, b): 48e9 for a in range(8) for b in range(8) if a != b}
    assert t.names[3] == "GPU3"


def test_gpus_that_xgmi_reaches_over_others_are_not_linked_directly(tmp_path: Path) -> None:
    t = load(rocm(3, lambda a, b: True, hops=lambda a, b: abs(a - b)), tmp_path)
    assert set(pairs(t)) == {(0, 1), (1, 0), (1, 2), (2, 1)}


def test_gpus_without_xgmi_meet_at_their_socket_and_then_at_the_host(tmp_path: Path) -> None:
    t = load(rocm(4, lambda a, b: False, numa=lambda gpu: gpu // 2), tmp_path, pcie_bandwidth=48e9)
    assert pairs(t)[0, 4] == pairs(t)[1, 4] == 48e9
    assert pairs(t)[4, 6] == 16e9
    assert t.names == ["GPU0", "GPU1", "GPU2", "GPU3", "CPU0", "CPU1", "host"]


@pytest.mark.parametrize("mark", ["# ", "> ", ""])
def test_the_speed_of_a_link_can_be_given_and_marks_change_nothing(tmp_path: Path, mark: str) -> None:
    text = "".join(mark + line for line in rocm(2, lambda a, b: True).splitlines(keepends=True))
    assert pairs(load(text, tmp_path, nvlink_bandwidth=36e9)) == {(0, 1): 36e9, (1, 0): 36e9}


def test_amd_smi_says_how_fast_links_are(tmp_path: Path) -> None:
    """Given bus numbers as names, SELF in the diagonal, and MIN-MAX in MB/s."""
    names = [f"0000:{i}1:00.0" for i in range(3)]
    types = table("LINK TYPE TABLE:", names, lambda a, b: "SELF" if a == b else "XGMI")
    access = table("ACCESS TABLE:", names, lambda a, b: "ENABLED")
    speeds = table("NUMA BW TABLE:", names, lambda a, b: "N/A" if a == b else "50000-64000")
    for text in (access + types + speeds, speeds + access + types):
        assert set(pairs(load(text, tmp_path)).values()) == {64e9}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.replace("XGMI  XGMI", "XGMI  NVLINK", 1), "expected XGMI or PCIE, found 'NVLINK'"),
        (lambda t: t + t, "found a second table of this kind: two hosts, or one twice"),
        (lambda t: t.replace("GPU2   XGMI  XGMI  0", ""), "expected a row of 'GPU2'"),
        (lambda t: t.replace("GPU2   XGMI  XGMI  0", "GPU2   XGMI  PCIE  0"), "expected the same both ways"),
        (
            lambda t: t.replace("GPU2   XGMI  XGMI  0", "GPU2   XGMI"),
            "expected 3 cells in the row of 'GPU2', found 1",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, change, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        load(change(rocm(3, lambda a, b: True)), tmp_path)
