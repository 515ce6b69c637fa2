# SPDX-License-Identifier: Apache-2.0
"""Whoever passes the wrong type reads one line about that argument, wherever the function is implemented."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import api_calls
import pytest
import wrong_calls

import hemiola as hm
from hemiola.errors import ArgumentError, ArgumentTypeError
from hemiola.workload import Training, resnet_50

TOPOLOGY = hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
SCHEDULE = hm.algorithms.all_reduce_ring(4)


def objects() -> dict[str, object]:
    return {
        "Algorithm": hm.algorithms.get("all_reduce_ring"),
        "Model": resnet_50(),
        "Parallel": hm.Parallel(tp=2),
        "Training": Training(resnet_50()),
        "Collective": SCHEDULE.collective,
        "Plan": hm.plan(TOPOLOGY, "all_reduce", 1024),
        "Pruner": hm.Pruner(0.5),
        "Schedule": SCHEDULE,
        "Timeline": hm.simulate(SCHEDULE, TOPOLOGY, 1024),
        "Topology": TOPOLOGY,
    }


def test_every_public_function_answers_a_wrong_type_in_its_own_words() -> None:
    assert wrong_calls.bad_answers(objects()) == []


def test_every_method_of_a_communicator_answers_a_wrong_type_in_its_own_words() -> None:
    (bad,) = hm.launch(wrong_calls.on_a_communicator, 1, timeout_s=120)
    assert bad == []


def test_every_public_function_has_a_signature_with_named_parameters() -> None:
    found = list(api_calls.calls(objects()))
    assert len(found) > 150
    for call in found:
        parameters = inspect.signature(call.function).parameters.values()
        unnamed = [p.name for p in parameters if p.kind is p.VAR_KEYWORD or (p.kind is p.VAR_POSITIONAL)]
        assert unnamed == (["args"] if call.name == "hemiola.launch" else []), call.name


def test_the_signature_of_a_compiled_function_has_its_defaults_and_no_self_on_an_object() -> None:
    assert list(inspect.signature(SCHEDULE.relabel).parameters) == ["ranks", "chunks"]
    assert list(inspect.signature(hm.Schedule.relabel).parameters) == ["self", "ranks", "chunks"]
    assert inspect.signature(hm.topologies.dgx_a100).parameters["box_count"].default == 1
    assert list(inspect.signature(hm.Topology).parameters)[:2] == ["rank_count", "links"]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: hm.plan(TOPOLOGY, "all_reduce", "64MiB"),  # type: ignore[arg-type]
            "plan(): nbytes: expected a whole number, an array or a sequence of sequences of whole numbers such as "
            "64 << 20, found '64MiB' (str)",
        ),
        (
            lambda: hm.topologies.mesh([2, 2], latency_s="1us", bandwidth=1e9),  # type: ignore[arg-type]
            "mesh(): latency_s: expected a number or a sequence of numbers such as 1e-6, found '1us' (str)",
        ),
        (
            lambda: hm.topologies.mesh([2, 2]),  # type: ignore[call-arg]
            "mesh(): missing a required argument: 'latency_s'; it is called as mesh(dims, *, latency_s, bandwidth, "
            "message_s=0.0)",
        ),
        (
            lambda: hm.algorithms.all_reduce_ring(2**70),
            "all_reduce_ring(): rank_count: expected a whole number of at most 63 bits, found "
            "1180591620717411303424 (int)",
        ),
        (
            lambda: hm.Topology(2, [(0, 1, 1e-6, 1e9)], nodes=[0, 1 << 40]),
            "Topology(): nodes: expected a whole number of at most 31 bits, found 1099511627776 (int)",
        ),
        (
            lambda: hm.Topology(2, [(0, 1, 1e-6, 1e9)], nics=[("nic0", 1 << 63, [0])]),
            "Topology(): nics: expected a whole number of at most 63 bits, found 9223372036854775808 (int)",
        ),
        (
            lambda: hm.simulate(SCHEDULE, TOPOLOGY, 64, conditions={}),  # type: ignore[arg-type]
            "simulate(): conditions: expected Conditions such as hm.Conditions(late={7: 4.5e-3}), or None, found {} "
            "(dict)",
        ),
    ],
)
def test_the_sentence_names_argument_expectation_example_and_value(call: object, sentence: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        call()  # type: ignore[operator]
    assert str(caught.value) == sentence
    assert isinstance(caught.value, ArgumentError | TypeError)


def test_an_error_of_the_callers_own_rows_stays_as_it_is() -> None:
    def rows() -> Iterator[tuple[int, int, int, int]]:
        raise TypeError("mine")
        yield

    with pytest.raises(TypeError, match=r"^mine$"):
        hm.Schedule.from_transfers(SCHEDULE.collective, rows())


def test_numpy_numbers_and_sequences_are_numbers_and_sequences() -> None:
    import numpy as np

    planned = hm.plan(
        TOPOLOGY, "all_reduce", np.int64(1024), hm.Conditions(late={np.int32(1): np.float32(1)})
    )
    assert planned.nbytes == 1024
    assert hm.topologies.mesh(np.array([2, 2]), latency_s=np.float32(0), bandwidth=10**9).rank_count == 4
