# SPDX-License-Identifier: Apache-2.0
"""`hemiola export`: which files it writes, and what it says. The files' content is tested in tests/export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hemiola as hm

MACHINES = Path(__file__).parents[1] / "topology" / "data"
H100 = str(MACHINES / "h100_four.xml")


def test_a_plan_for_mscclpp_is_written_and_its_sizes_are_told(hemiola, tmp_path: Path) -> None:
    out = tmp_path / "ring.json"
    ran = hemiola("export", "all_reduce_ring", "--ranks", 4, "--to", "mscclpp", "--out", out)
    assert ran.code == 0
    assert "mscclpp  all_reduce_ring: all_reduce, 4 ranks, 4 chunks" in ran.out
    assert "thread blocks at most: 4" in ran.out
    document = json.loads(out.read_text())
    assert (document["name"], document["collective"], len(document["gpus"])) == ("ring", "allreduce", 4)


def test_the_document_repeats_the_question(hemiola, tmp_path: Path) -> None:
    schedule, out = tmp_path / "x.sched", tmp_path / "x.json"
    hm.algorithms.all_gather_ring(3).save(schedule)
    ran = hemiola("export", schedule, "--to", "mscclpp", "-o", out, "--lanes", 1, "--out-of-place", "--json")
    assert ran.data == {
        "command": "export",
        "version": 1,
        "schedule": str(schedule),
        "collective": "all_gather",
        "rank_count": 3,
        "transfer_count": 6,
        "format": "mscclpp",
        "files": [str(out)],
        "facts": {"chunks": 3, "scratch_chunks_at_most": 0, "thread_blocks_at_most": 1},
    }
    assert json.loads(out.read_text())["inplace"] is False


@pytest.mark.parametrize("words", [["--to", "nccl-program"], ["--nccl-program"]], ids="-".join)
def test_a_program_of_grouped_sends_is_written(hemiola, words: list[str], tmp_path: Path) -> None:
    out = tmp_path / "ring.cu"
    ran = hemiola("export", "all_reduce_ring", "-n", 3, *words, "--op", "max", "-o", out, "--json")
    assert ran.data["format"] == "nccl-program"
    assert ran.data["facts"] == {"groups": 4, "units": 3, "units_with_scratch": 4}
    assert "ncclSend(" in out.read_text()
    assert "@" not in out.read_text()


def test_a_graph_for_a_machine_is_written(hemiola, tmp_path: Path) -> None:
    out, machine = tmp_path / "graph.xml", MACHINES / "h100_four.xml"
    ran = hemiola(
        "export", "all_reduce_ring", "--topology", machine, "--to", "nccl-graph", "-o", out, "--json"
    )
    assert ran.data["facts"] == {"graphs": 2, "channels": 10, "orders": 1}
    assert out.read_text().startswith('<graphs version="1">')


def test_rings_are_packed_for_a_machine(hemiola, tmp_path: Path) -> None:
    out, machine = tmp_path / "graph.xml", MACHINES / "dgx1_v100.xml"
    ran = hemiola("export", "rings", "--topology", machine, "--to", "nccl-graph", "-o", out, "--json")
    assert (ran.data["collective"], ran.data["rank_count"]) == (None, 8)
    assert ran.data["facts"]["orders"] == 4
    told = hemiola("export", "rings", "--topology", machine, "--to", "nccl-graph", "-o", out).out
    assert "rings packed for 8 GPUs" in told


def test_a_trace_per_rank_is_written(hemiola, cluster: Path, tmp_path: Path) -> None:
    out = tmp_path / "ring"
    asked = ["--to", "chakra", "--size", "1MiB", "--topology", cluster]
    ran = hemiola("export", "all_reduce_ring", *asked, "-o", out, "--json")
    files = [f"{out}.{rank}.et" for rank in range(4)]
    assert ran.data["files"] == files
    assert sum(len(Path(file).read_bytes()) for file in files) == ran.data["facts"]["bytes_of_traces"]
    assert "Written to" in hemiola("export", "all_reduce_ring", *asked, "-o", out).out


@pytest.mark.parametrize(
    "arguments",
    [
        ["all_reduce_ring", "--to", "mscclpp", "-o", "x.json"],
        ["all_reduce_ring", "-n", "4", "--to", "mscclpp"],
        ["all_reduce_ring", "-n", "4", "--to", "msccl", "-o", "x.json"],
        ["all_reduce_ring", "-n", "4", "-o", "x.json"],
        ["all_reduce_ring", "-n", "4", "--to", "mscclpp", "-o", "no folder/x.json"],
        ["all_reduce_ring", "-n", "4", "--to", "mscclpp", "-o", "x.json", "--lanes", "9"],
        ["all_reduce_ring", "-n", "4", "--to", "mscclpp", "-o", "x.json", "--op", "max"],
        ["all_reduce_ring", "-n", "4", "--to", "mscclpp", "--nccl-program", "-o", "x.cu"],
        ["all_reduce_ring", "-n", "4", "--nccl-program", "--op", "avg", "-o", "x.cu"],
        ["all_reduce_ring", "-n", "4", "--to", "nccl-graph", "-o", "x.xml"],
        ["rings", "--to", "nccl-graph", "-o", "x.xml"],
        ["rings", "-n", "4", "--to", "mscclpp", "-o", "x.json"],
        ["all_reduce_ring", "-n", "8", "--to", "nccl-graph", "--topology", H100, "-o", "x.xml"],
        ["all_reduce_direct", "-n", "4", "--to", "nccl-graph", "--topology", H100, "-o", "x.xml"],
        ["all_reduce_ring", "-n", "4", "--to", "chakra", "-o", "x"],
        ["all_reduce_ring", "-n", "4", "--to", "chakra", "-o", "x", "--size", "0"],
        [
            "all_reduce_ring",
            "-n",
            "4",
            "--to",
            "chakra",
            "-o",
            "x",
            "--size",
            "1KiB",
            "--topology",
            "no.yaml",
        ],
        ["broadcast_chain", "-n", "4", "--to", "mscclpp", "-o", "x.json"],
        ["all_to_all_direct", "-n", "4", "--to", "mscclpp", "-o", "x.json", "--lanes", "many"],
        ["no such file", "--to", "mscclpp", "-o", "x.json"],
    ],
)
def test_mistakes_are_one_line(
    hemiola, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hemiola("export", *arguments).is_users_mistake()
    assert list(tmp_path.iterdir()) == []
