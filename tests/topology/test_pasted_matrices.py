# SPDX-License-Identifier: Apache-2.0
"""What people paste of `nvidia-smi topo -m`: marks around it change nothing, and what cannot be read is named."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola.errors import FormatError
from hemiola.topology.nvidia_smi import from_matrix

DATA = Path(__file__).parent / "data"
TEXTS = {path.name: path.read_text() for path in sorted(DATA.glob("*.topo"))}


def clique(
    count: int, links: str, names: list[str] | None = None, header: str = "CPU Affinity\tNUMA Affinity"
) -> str:
    names = names or [f"GPU{i}" for i in range(count)]
    rows = ["\t".join([a, *("X" if a == b else links for b in names), "0-31", "0"]) for a in names]
    return "\n".join(["\t" + "\t".join([*names, header]), *rows, "", "Legend:", "", "  X    = Self"]) + "\n"


def speeds(t: hm.Topology) -> set[float]:
    return set(t.links["bandwidth"].tolist())


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(
    "mark", ["# ", "> ", "> > ", "// ", "; ", "| ", "    ", "\u200b", "  * ", "#", "%\t"]
)
def test_comment_and_quote_marks_change_nothing(name: str, mark: str) -> None:
    marked = "".join(mark + line for line in TEXTS[name].splitlines(keepends=True))
    assert from_matrix(marked, nic_bandwidth=25e9) == from_matrix(TEXTS[name], nic_bandwidth=25e9)


@pytest.mark.parametrize("name", TEXTS)
def test_fences_quotes_prompts_and_prefixes_change_nothing(name: str) -> None:
    text = TEXTS[name]
    wanted = from_matrix(text, nic_bandwidth=25e9)
    quoted = "\n".join(f'"{line}"' for line in text.splitlines())
    ways = [
        f"```\n$ nvidia-smi topo -m\n{text}```\n",
        f"2025/05/21 09:40:05 hostA nvidia-smi topo -m\n{text}",
        quoted,
        repr(text),
        text.replace("\n", "\r\n"),
        "\n".join("hostA: " + line for line in text.splitlines()),
    ]
    for way in ways:
        assert from_matrix(way, nic_bandwidth=25e9) == wanted, way[:200]


def test_a_table_with_bars_is_a_matrix(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("|  | GPU0 | GPU1 |\n|---|---|---|\n| GPU0 | X | NV4 |\n| GPU1 | NV4 | X |\n")
    assert speeds(hm.Topology.load(path)) == {80e9}


@pytest.mark.parametrize("name", TEXTS)
@given(seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_the_order_of_the_rows_changes_nothing(name: str, seed: int) -> None:
    lines = TEXTS[name].splitlines()
    rows = [
        i for i, line in enumerate(lines) if re.match(r"\s*(GPU|NIC)\d+\s+\S", line) and "CPU" not in line
    ]
    shuffled = random.Random(seed).sample(rows, len(rows))
    mixed = list(lines)
    for to, come_from in zip(rows, shuffled, strict=True):
        mixed[to] = lines[come_from]
    assert from_matrix("\n".join(mixed), nic_bandwidth=25e9) == from_matrix(TEXTS[name], nic_bandwidth=25e9)


@given(order=st.permutations(range(4)))
@settings(max_examples=24, deadline=None)
def test_ranks_follow_the_numbers_of_the_gpus_whatever_the_order_of_the_columns(order: list[int]) -> None:
    def cell(a: int, b: int) -> str:
        return "X" if a == b else "NV4" if a // 2 == b // 2 else "SYS"

    names = [f"GPU{i}" for i in order]
    rows = [f"GPU{a} " + " ".join(cell(a, b) for b in order) for a in order]
    t = from_matrix(" ".join(names) + "\n" + "\n".join(rows))
    assert t.links["bandwidth"][(t.links["src"] == 0) & (t.links["dst"] == 1)].tolist() == [80e9]


def test_names_need_not_begin_at_gpu0(tmp_path: Path) -> None:
    path = tmp_path / "x.topo"
    path.write_text(clique(4, "NV18", [f"GPU{i}" for i in range(4, 8)]))
    t = hm.Topology.load(path)
    assert t.names == ["GPU4", "GPU5", "GPU6", "GPU7", "NVSwitch"]
    assert t.links.tolist() == from_matrix(clique(4, "NV18")).links.tolist()


@pytest.mark.parametrize(
    "glue",
    [
        ("NIC3\tCPU Affinity", "NIC3CPU Affinity"),
        ("GPU0\tGPU1", "GPU0GPU1"),
        ("GPU7\tNIC0", "GPU7NIC0"),
        ("GPU7\tNUMA", "GPU7NUMA"),
    ],
)
def test_names_of_columns_that_are_glued_are_read(glue: tuple[str, str]) -> None:
    lines = TEXTS["dgx_a100.topo"].splitlines()
    lines[0] = lines[0].replace(*glue)
    assert from_matrix("\n".join(lines), nic_bandwidth=25e9) == from_matrix(
        TEXTS["dgx_a100.topo"], nic_bandwidth=25e9
    )


def test_glued_cells_are_read_where_only_one_reading_is_possible() -> None:
    assert from_matrix("GPU0 GPU1 CPU Affinity\nGPU0XSYS0-27\nGPU1SYSX0-27\n") == from_matrix(
        "GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n"
    )
    with pytest.raises(FormatError, match="line 2: columns are glued in 'NV40-27'"):
        from_matrix("GPU0 GPU1 CPU Affinity\nGPU0 X NV40-27\nGPU1 NV4 X 0-27\n")


@pytest.mark.parametrize(
    ("count", "links", "bandwidth"),
    [
        (3, "NV8", 160e9),
        (8, "NV8", 160e9),
        (4, "NV6", 120e9),
        (3, "NV6", 120e9),
        (3, "NV12", 240e9),
        (2, "NV12", 240e9),
    ],
)
def test_gpus_with_all_their_nvlinks_to_each_other_are_behind_a_switch(
    count: int, links: str, bandwidth: float
) -> None:
    """A800 have 8 NVLinks, V100 6, A100 12: a board where each has as many to every other has an NVSwitch."""
    t = from_matrix(clique(count, links))
    assert t.switch_count == (1 if count > 2 else 0)
    assert speeds(t) == {bandwidth}
    assert np.bincount(t.links["src"])[:count].tolist() == [1] * count


@pytest.mark.parametrize("links", ["NV1", "NV2", "NV4"])
def test_boards_that_join_each_two_gpus_directly_have_no_switch(links: str) -> None:
    assert from_matrix(clique(4, links)).switch_count == 0


def test_four_hopper_gpus_are_joined_directly_by_six_of_eighteen() -> None:
    """Drivers that know H100 print a column GPU NUMA ID."""
    t = from_matrix(clique(4, "NV6", header="CPU Affinity\tNUMA Affinity\tGPU NUMA ID"))
    assert (t.switch_count, speeds(t)) == (0, {120e9})


def test_two_groups_of_nvlinks_have_a_switch_each() -> None:
    rows = [
        " ".join("X" if a == b else "NV18" if a // 3 == b // 3 else "SYS" for b in range(6)) for a in range(6)
    ]
    names = [f"GPU{i}" for i in range(6)]
    t = from_matrix(
        " ".join(names) + "\n" + "\n".join(f"{a} {row}" for a, row in zip(names, rows, strict=True))
    )
    fast = t.links[(t.links["bandwidth"] == 360e9) & (t.links["src"] < 6)]
    assert len(set(fast["dst"].tolist())) == 2


@pytest.mark.parametrize("separator", ["\n\n", "\n2025/05/21 09:40:05 hostB nvidia-smi topo -m\n"])
def test_two_hosts_in_one_paste_are_two_or_refused(separator: str) -> None:
    hosts = [
        TEXTS["dgx_a100.topo"] + "".join(f"NIC{i}: {name}_{i}\n" for i in range(4))
        for name in ("mlx5", "other")
    ]
    text = separator.join(hosts)
    with pytest.raises(FormatError, match=r"found 2 matrices, in lines 1 and \d+: 2 hosts"):
        from_matrix(text)
    t = from_matrix(text, nic_bandwidth=25e9)
    box = from_matrix(TEXTS["dgx_a100.topo"], nic_bandwidth=25e9)
    assert (t.rank_count, t.node_count) == (16, 2)
    assert t.switch_count == 2 * (box.switch_count - 1) + 1
    assert {(host, name.split("_")[0]) for name, host, _ in t.nics} == {(0, "mlx5"), (1, "other")}


def test_the_speed_of_pcie_can_be_given() -> None:
    t = from_matrix(TEXTS["pcie_eight.topo"], pcie_bandwidth=48e9)
    assert speeds(t) == {48e9, 16e9}


def test_a_yaml_file_with_a_matrix_in_a_comment_is_yaml(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("# GPU0 GPU1\n# GPU0 X NV4\ntopology: ring\nranks: 5\nlatency: 1 us\nbandwidth: 1 GB/s\n")
    assert hm.Topology.load(path).rank_count == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\nGPU1 NV2 X\n",
            "line 4: the row of 'GPU1' stands here again, with 'NV2'",
        ),
        ("GPU0 GPU1\nGPU0 X NV4\n", "line 1: expected a row of 'GPU1'"),
        ("GPU1 X NV4\nGPU0 NV4 X\n", "line 1: expected a line with the names of the columns"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        from_matrix(text, "'x'")
