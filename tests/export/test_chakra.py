# SPDX-License-Identifier: Apache-2.0
"""Chakra traces say what the schedule says: replayed by ASTRA-sim's rules they take the simulated time."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest
from astra_rules import Replay, nodes_of

import hemiola as hm
from hemiola.export import chakra_messages as messages
from hemiola.export.chakra import chakra_traces

COST = {"latency_s": 2e-6, "bandwidth": 25e9}
SWITCH, RING = hm.topologies.switch(8, **COST), hm.topologies.ring(8, **COST)
SIZES = [1 << 26, 1 << 20, 1 << 16]
#: Messages of two ranks reach a link of the switch at one time, over and over; a trace cannot say which goes first.
TIED = (
    "all_gather_ring_two_way",
    "reduce_scatter_ring_two_way",
    "all_reduce_ring_two_way",
    "all_reduce_bruck",
)


def error(
    schedule: hm.Schedule, topology: hm.Topology, nbytes: int, tie_ns: int | None = None, seed: int = 0
) -> float:
    traces = chakra_traces(schedule, nbytes, topology=topology)
    seconds = Replay(traces, topology, seed, tie_ns).seconds
    assert seconds is not None
    return seconds / hm.simulate(schedule, topology, nbytes, network="fifo").seconds - 1


@pytest.mark.parametrize("nbytes", SIZES)
def test_a_replay_on_a_switch_takes_the_simulated_time(nbytes: int) -> None:
    """With ties as `hm.simulate` settles them all algorithms do; as they come, all but those that live by ties."""
    names = hm.algorithms.names()
    assert len(names) >= 38
    for name in names:
        schedule = hm.algorithms.get(name).generate(8, root=0)
        assert abs(error(schedule, SWITCH, nbytes, tie_ns=8)) < 0.002, name
        assert abs(error(schedule, SWITCH, nbytes)) < (0.16 if name in TIED else 0.005), name


@pytest.mark.parametrize("nbytes", SIZES)
def test_a_replay_on_a_ring_takes_the_simulated_time(nbytes: int) -> None:
    neighbours = 0
    for name in hm.algorithms.names():
        schedule = hm.algorithms.get(name).generate(8, root=0)
        distance = (np.diff(schedule.pairs, axis=1) % 8).ravel().tolist()
        if set(distance) <= {1, 7}:
            neighbours += 1
            assert abs(error(schedule, RING, nbytes)) < 0.001, name
    assert neighbours >= 8


def test_a_replay_does_not_depend_on_the_order_of_nodes_that_are_free_at_one_time() -> None:
    for name in ("all_gather_direct", "all_to_all_bruck", "broadcast_double_binary_tree"):
        schedule = hm.algorithms.get(name).generate(8, root=0)
        assert len({error(schedule, SWITCH, 1 << 20, seed=seed) for seed in range(4)}) == 1, name


def test_a_replay_of_a_synthesized_schedule_takes_the_simulated_time() -> None:
    mesh = hm.topologies.mesh([3, 3], **COST)
    schedule = hm.synthesize(mesh, "all_gather", seed=1)
    assert abs(error(schedule, mesh, 1 << 24)) < 0.01


def test_an_empty_chunk_is_a_message_of_one_byte() -> None:
    """ASTRA-sim's links take no empty message."""
    ring = hm.algorithms.all_gather_ring(3)
    schedule = hm.Schedule.from_transfers(ring.collective, ring.transfers, [0, 1, 1])
    nodes = [node for trace in chakra_traces(schedule, 100) for node in nodes_of(trace)]
    assert {node.told["comm_size"] for node in nodes if node.kind == messages.SEND_NODE} == {1, 50}


def test_a_transfer_is_a_send_and_a_receive_that_find_each_other() -> None:
    schedule = hm.algorithms.all_reduce_ring(4)
    traces = chakra_traces(schedule, 4096)
    ends: Counter[tuple[object, ...]] = Counter()
    for rank, trace in enumerate(traces):
        nodes = nodes_of(trace)
        assert [node.id for node in nodes] == list(range(len(nodes)))
        for node in nodes:
            assert all(dep < node.id for dep in node.deps)
            told = node.told
            assert told["is_cpu_op"] == 0
            if node.kind == messages.SEND_NODE:
                ends[rank, told["comm_dst"], told["comm_tag"], told["comm_size"]] += 1
            elif node.kind == messages.RECV_NODE:
                ends[told["comm_src"], rank, told["comm_tag"], told["comm_size"]] -= 1
        kinds = Counter(node.name for node in nodes)
        assert kinds == {"SEND": 6, "RECV": 6, "REDUCE": 3, "TURN": 5}
    assert len(ends) == schedule.transfer_count
    assert set(ends.values()) == {0}


def test_sizes_follow_the_weights_and_add_up_to_the_buffer() -> None:
    ring = hm.algorithms.all_gather_ring(3)
    schedule = hm.Schedule.from_transfers(ring.collective, ring.transfers, [1, 2, 4])
    nodes = [node for trace in chakra_traces(schedule, 1000) for node in nodes_of(trace)]
    sizes = Counter(node.told["comm_size"] for node in nodes if node.kind == messages.SEND_NODE)
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


def test_without_protobuf_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    messages._classes.cache_clear()
    for name in [name for name in sys.modules if name == "google" or name.startswith("google.protobuf")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(hm.MissingPackageError, match=r"protobuf is not installed here; .*hemiola\[traces\]"):
        chakra_traces(hm.algorithms.all_reduce_ring(2), 64)
    messages._classes.cache_clear()
