# SPDX-License-Identifier: Apache-2.0
"""Chakra's traces, written by hand in protobuf's wire format: a graph becomes a step, a bad file an answer."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola.errors import FormatError
from hemiola.workload.readers.chakra import read_chakra
from hemiola.workload.reading import model_or_step
from hemiola.workload.task import Call, Step

COMPUTE, SEND, COLLECTIVE = 4, 5, 7
ALL_REDUCE = 0


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def text(field: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name: str, value: int) -> bytes:
    return text(10, text(1, name) + number(9, value))


def node(place: int, kind: int, needs: tuple[int, ...] = (), microseconds: int = 0, **told: int) -> bytes:
    return (
        number(1, place) + text(2, f"node {place}") + number(3, kind) + text(5, b"".join(map(varint, needs)))
        + number(7, microseconds) + b"".join(attribute(name, value) for name, value in told.items())
    )  # fmt: skip


def file_of(path: Path, *nodes: bytes, version: str = "0.0.4") -> Path:
    path.write_bytes(b"".join(varint(len(one)) + one for one in (text(1, version), *nodes)))
    return path


STEP = (
    node(0, COMPUTE, (), 1000),
    node(1, COLLECTIVE, (0,), comm_type=ALL_REDUCE, comm_size=1_000_000),
    node(2, COMPUTE, (0,), 400),
    node(3, COMPUTE, (1, 2), 100),
)


def test_a_graph_becomes_a_step_whose_collective_is_hidden_in_part(tmp_path: Path) -> None:
    """Given: 1 ms, then 1 MB beside 0.4 ms, then 0.1 ms, at 1 GB/s. Expect: 1 ms, the all-reduce, 0.1 ms."""
    path = file_of(tmp_path / "rank.0.et", *STEP)
    step = model_or_step(path)
    assert isinstance(step, Step)
    assert step.calls() == [Call("all_reduce", 1_000_000, "world")]
    found = hm.whatif(path, hm.topologies.switch(2, latency_s=0.0, bandwidth=1e9))
    assert found.compute_s == pytest.approx(1.5e-3)
    assert found.seconds == pytest.approx(1e-3 + 1e-3 + 0.1e-3, rel=0.02)


BAD = {
    "circle": ((node(0, COMPUTE, (1,), 1), node(1, COMPUTE, (0,), 1)), "0.0.4", "node 0"),
    "missing need": ((node(0, COMPUTE, (7,), 1),), "0.0.4", "node 7"),
    "twice": ((node(0, COMPUTE), node(0, COMPUTE)), "0.0.4", "node 0 again"),
    "version": (STEP, "9.9", "'9.9'"),
    "message": ((node(0, SEND),), "0.0.4", "single message"),
    "collective": ((node(0, COLLECTIVE, comm_type=77, comm_size=1),), "0.0.4", "77"),
    "empty": ((), "0.0.4", "found none"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_graph_is_answered_with_its_place(tmp_path: Path, case: str) -> None:
    nodes, version, place = BAD[case]
    with pytest.raises(FormatError, match="expected") as raised:
        read_chakra(file_of(tmp_path / "bad.et", *nodes, version=version))
    assert place in str(raised.value)
    assert "bad.et" in str(raised.value)


def test_too_many_nodes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hemiola.workload.readers.chakra._MOST_NODES", 3)
    with pytest.raises(FormatError, match="at most 3 nodes"):
        read_chakra(file_of(tmp_path / "large.et", *STEP))


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(1, 60), flipped=st.integers(0, 200), mask=st.integers(1, 255))
def test_a_damaged_file_is_answered_or_read(
    tmp_path_factory: pytest.TempPathFactory, cut: int, flipped: int, mask: int
) -> None:
    path = file_of(tmp_path_factory.mktemp("damaged") / "a.et", *STEP)
    data = bytearray(path.read_bytes())
    data[flipped % len(data)] ^= mask
    path.write_bytes(bytes(data[:-cut]) if cut % 2 else bytes(data))
    with contextlib.suppress(FormatError):
        assert isinstance(read_chakra(path), Step)
