# SPDX-License-Identifier: Apache-2.0
"""Chakra traces say what the schedule says: replayed by ASTRA-sim's rules they take the simulated time."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest
from astra_rules import Replay

import hemiola as hm
from hemiola.errors import FormatError
from hemiola.export import chakra_messages as messages
from hemiola.export.chakra import chakra_traces

COST = {"latency_s": 2e-6, "bandwidth": 25e9}
#: Messages of several steps meet at a receiving port, whose order a trace cannot say.
CROWDED = ("broadcast_double_binary_tree", "reduce_double_binary_tree", "all_reduce_double_binary_tree")
CROWDED = (*CROWDED, "broadcast_circulant")


def error(schedule: hm.Schedule, topology: hm.Topology, nbytes: int) -> float:
    seconds = Replay(chakra_traces(schedule, nbytes, topology=topology), topology).seconds
    assert seconds is not None
    return seconds / hm.simulate(schedule, topology, nbytes).seconds - 1


@pytest.mark.parametrize("nbytes", [1 << 26, 1 << 16])
def test_a_replay_on_a_switch_takes_the_simulated_time(nbytes: int) -> None:
    switch = hm.topologies.switch(8, **COST)
    names = [name for name in hm.algorithms.names() if name not in CROWDED]
    assert len(names) > 30
    for name in names:
        assert abs(error(hm.algorithms.get(name).generate(8, root=0), switch, nbytes)) < 0.01, name


@pytest.mark.parametrize("nbytes", [1 << 26, 1 << 20, 1 << 16])
def test_a_replay_on_a_ring_takes_the_simulated_time(nbytes: int) -> None:
    ring, neighbours = hm.topologies.ring(8, **COST), 0
    for name in hm.algorithms.names():
        schedule = hm.algorithms.get(name).generate(8, root=0)
        distance = (np.diff(schedule.pairs, axis=1) % 8).ravel().tolist()
        if set(distance) <= {1, 7}:
            neighbours += 1
            assert abs(error(schedule, ring, nbytes)) < 0.01, name
    assert neighbours >= 8


def test_a_replay_of_a_synthesized_schedule_takes_the_simulated_time() -> None:
    mesh = hm.topologies.mesh([3, 3], **COST)
    schedule = hm.synthesize(mesh, "all_gather", seed=1)
    assert abs(error(schedule, mesh, 1 << 24)) < 0.01


def test_a_transfer_is_a_send_and_a_receive_that_find_each_other() -> None:
    schedule = hm.algorithms.all_reduce_ring(4)
    traces = chakra_traces(schedule, 4096)
    ends: Counter[tuple[object, ...]] = Counter()
    for rank, trace in enumerate(traces):
        nodes = list(messages.separated(trace, "x"))
        assert [node.id for node in nodes] == list(range(len(nodes)))
        for node in nodes:
            assert all(dep < node.id for dep in node.data_deps)
            told = messages.attributes(node)
            assert told["is_cpu_op"] is False
            if node.type == messages.SEND_NODE:
                ends[rank, told["comm_dst"], told["comm_tag"], told["comm_size"]] += 1
            elif node.type == messages.RECV_NODE:
                ends[told["comm_src"], rank, told["comm_tag"], told["comm_size"]] -= 1
        kinds = Counter(node.name for node in nodes)
        assert kinds == {"SEND": 6, "RECV": 6, "REDUCE": 3}
    assert len(ends) == schedule.transfer_count
    assert set(ends.values()) == {0}


def test_sizes_follow_the_weights_and_add_up_to_the_buffer() -> None:
    ring = hm.algorithms.all_gather_ring(3)
    schedule = hm.Schedule.from_transfers(ring.collective, ring.transfers, [1, 2, 4])
    nodes = [node for trace in chakra_traces(schedule, 1000) for node in messages.separated(trace, "x")]
    sizes = Counter(
        messages.attributes(node)["comm_size"] for node in nodes if node.type == messages.SEND_NODE
    )
    assert sizes == {143: 2, 286: 2, 571: 2}


def test_adding_takes_its_time() -> None:
    schedule, switch = hm.algorithms.all_reduce_ring(4), hm.topologies.switch(4, **COST)
    plain = Replay(chakra_traces(schedule, 4_000_000), switch).seconds
    slow = Replay(chakra_traces(schedule, 4_000_000, reduce_bandwidth=1e9), switch).seconds
    assert plain is not None
    assert slow == pytest.approx(plain + 3e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("schedule", "options", "words"),
    [
        (hm.algorithms.all_reduce_ring(4), {"nbytes": 0}, "at least 1 byte, found 0"),
        (
            hm.algorithms.all_reduce_ring(4),
            {"nbytes": 8, "reduce_bandwidth": 0.0},
            "reduce_bandwidth above 0",
        ),
        (
            hm.algorithms.all_reduce_ring(4),
            {"nbytes": 8, "topology": hm.topologies.ring(5, **COST)},
            "a topology of 4 ranks, as the schedule has, found 5",
        ),
        (
            hm.Schedule.from_transfers(hm.Collective.make("broadcast", 3, 1), [(0, 0, 1, 0)]),
            {"nbytes": 8},
            "missing_chunk at step",
        ),
    ],
)
def test_what_a_trace_cannot_say_is_refused(
    schedule: hm.Schedule, options: dict[str, object], words: str
) -> None:
    with pytest.raises(hm.ArgumentError) as caught:
        chakra_traces(schedule, **options)  # type: ignore[arg-type]
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (lambda data: data[:-1], "found the end after"),
        (lambda data: data + b"\x80", "expected a message's length"),
        (lambda data: data[:8] + b"\x03\xff\xff\xff", "expected a message of Chakra"),
    ],
)
def test_a_damaged_trace_is_refused_with_its_place(cut, words: str) -> None:
    (trace, _) = chakra_traces(hm.algorithms.all_reduce_ring(2), 64)
    with pytest.raises(FormatError, match=r"^x\.et, byte \d+: ") as caught:
        list(messages.separated(cut(trace), "x.et"))
    assert words in str(caught.value)


def test_without_protobuf_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    messages._classes.cache_clear()
    for name in [name for name in sys.modules if name == "google" or name.startswith("google.protobuf")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(hm.MissingPackageError, match=r"protobuf is not installed here; .*hemiola\[traces\]"):
        chakra_traces(hm.algorithms.all_reduce_ring(2), 64)
    messages._classes.cache_clear()
