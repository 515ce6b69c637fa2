# SPDX-License-Identifier: Apache-2.0
"""Names and units as people bring them from MPI, NCCL, PyTorch and data sheets."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hemiola as hm
from hemiola.cli import main, values
from hemiola.measure.pattern import dtype_named
from hemiola.units import parse_bandwidth


@pytest.mark.parametrize(
    ("text", "gigabytes"),
    [
        ("100 Gbps", 12.5),
        ("100gbps", 12.5),
        ("100 Gb/s", 12.5),
        ("100 Gbit/s", 12.5),
        ("100 Gbits/s", 12.5),
        ("400G", 50),
        ("1.6T", 200),
        ("50 GB/s", 50),
        ("50 GBps", 50),
        ("1000 mbps", 0.125),
    ],
)
def test_bandwidths_are_read_as_data_sheets_write_them(text: str, gigabytes: float) -> None:
    assert parse_bandwidth(text) == pytest.approx(gigabytes * 1e9, rel=1e-12)


@pytest.mark.parametrize("text", ["400", "400M", "100 ps", "ps", "G", "1 /s", "5 us", "0G", "3 Gq/s"])
def test_other_texts_are_no_bandwidths(text: str) -> None:
    with pytest.raises(hm.FormatError, match="expected a bandwidth"):
        parse_bandwidth(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("allreduce", "all_reduce"),
        ("all-reduce", "all_reduce"),
        ("AllGather", "all_gather"),
        ("Bcast", "broadcast"),
        ("reduce_scatter_tensor", "reduce_scatter"),
        ("all_to_all_single", "all_to_all"),
        *((kind, kind) for kind in values.KINDS),
    ],
)
def test_the_command_line_understands_other_names_and_python_asks_back(text: str, kind: str) -> None:
    assert values.read_kind(text) == kind
    if text != kind:
        topology = hm.topologies.ring(2, latency_s=1e-6, bandwidth=1e9)
        for call in (hm.plan, hm.lower_bound, hm.synthesize):
            arguments = (topology, text, 8) if call is not hm.synthesize else (topology, text)
            with pytest.raises(hm.ArgumentError, match=f"did you mean '{kind}'"):
                call(*arguments)


def test_a_typo_of_a_collective_or_an_algorithm_is_answered_by_what_is_like_it() -> None:
    with pytest.raises(hm.ArgumentError, match="did you mean all_reduce"):
        values.read_kind("all_redcue")
    with pytest.raises(hm.ArgumentError, match=r"did you mean .*all_reduce_ring"):
        hm.algorithms.get("ring")
    with pytest.raises(hm.ArgumentError, match="did you mean all_reduce_ring"):
        hm.algorithms.get("all_reduce_rign")


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("avg", "average"),
        ("SUM", "sum"),
        ("prod", "product"),
        ("Max", "max"),
        ("mean", "average"),
        ("bor", "or"),
    ],
)
def test_operations_are_understood(text: str, op: str) -> None:
    assert values.read_op(text) == op


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("fp16", "float16"),
        ("half", "float16"),
        ("bf16", "bfloat16"),
        ("float", "float32"),
        ("double", "float64"),
        ("torch.bfloat16", "bfloat16"),
        ("f8e4m3", "float8_e4m3fn"),
        ("fp8_e5m2", "float8_e5m2"),
        ("Int8", "int8"),
    ],
)
def test_dtypes_are_understood(text: str, dtype: str) -> None:
    assert dtype_named(text).name == dtype


def test_an_algorithm_is_completed_by_the_collective() -> None:
    assert values.read_algorithm("ring", "all_reduce") == "all_reduce_ring"
    assert values.read_algorithm("Recursive-Doubling", "all_gather") == "all_gather_recursive_doubling"
    assert values.read_algorithm("all_reduce_ring", "all_reduce") == "all_reduce_ring"
    assert values.read_algorithm("auto", "all_reduce") == "auto"


def test_a_run_in_other_libraries_words(capsys: pytest.CaptureFixture[str]) -> None:
    words = "run All-Reduce 4K -n 2 -d half -o avg --algorithm ring --repeats 1 --json"
    assert main(words.split()) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["collective"], told["dtype"], told["op"]) == ("all_reduce", "float16", "average")
    assert [row["algorithm"] for row in told["sizes"][0]["algorithms"]] == ["all_reduce_ring"]


def average_and_sum() -> tuple[float, float]:
    comm = hm.init()
    brought = np.full(4, float(comm.rank))
    return float(comm.all_reduce(brought.copy(), op="avg")[0]), float(comm.all_reduce(brought, op="SUM")[0])


def test_communicators_understand_the_same_operations() -> None:
    assert hm.launch(average_and_sum, 2, timeout_s=60) == [(0.5, 1.0)] * 2
