# SPDX-License-Identifier: Apache-2.0
"""Results are values: they are pickled, copied, compared and hashed, in this process and in another one."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
import travelling

import hemiola as hm

torch_errors = pytest.importorskip("hemiola.torch.errors", exc_type=ImportError)  # needs PyTorch

ROADS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "cloudpickle": lambda value: pickle.loads(cloudpickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
CLASSES = travelling.public_classes()
VALUES = sorted(name for name, kind in CLASSES.items() if not issubclass(kind, BaseException))
ERRORS = travelling.errors()


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return travelling.objects(tmp_path_factory.mktemp("travelling"))


@pytest.fixture(scope="module")
def other() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


def test_every_public_class_has_an_object_here(objects: dict[str, Any]) -> None:
    missing = set(VALUES) - set(objects) - set(travelling.STAYING)
    assert not missing, "make one in travelling.objects(), or say in STAYING why it stays"


def test_errors_of_the_frameworks_are_among_the_errors() -> None:
    assert torch_errors.GroupTimeoutError in ERRORS.values()
    assert {kind for kind in CLASSES.values() if issubclass(kind, BaseException)} <= set(ERRORS.values())


@pytest.mark.parametrize("name", [name for name in VALUES if name not in travelling.STAYING])
def test_a_value_comes_back_equal_by_every_road(
    name: str, objects: dict[str, Any], other: ProcessPoolExecutor
) -> None:
    value = objects[name]
    roads = {**ROADS, "spawn": lambda value: other.submit(travelling.come_back, value).result(timeout=120)}
    for road, travel in roads.items():
        back = travel(value)
        assert type(back) is type(value), road
        assert travelling.facts(back) == travelling.facts(value), road
        if name not in travelling.WITHOUT_EQUALITY:
            assert back == value, road
            assert hash(back) == hash(value), road
            assert value != object(), road


@pytest.mark.parametrize("name", VALUES)
def test_a_value_shows_itself_in_one_short_line(name: str, objects: dict[str, Any]) -> None:
    if name in objects:
        assert "\n" not in repr(objects[name])
        assert len(repr(objects[name])) <= 300


def test_another_process_reads_the_same_from_a_plan_and_a_timeline(
    objects: dict[str, Any], other: ProcessPoolExecutor
) -> None:
    for name in ("Plan", "Timeline"):
        there = other.submit(travelling.facts, objects[name]).result(timeout=120)
        assert there == travelling.facts(objects[name])


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "broadcast", "all_to_all"])
@pytest.mark.parametrize("topology", ["ring", "mesh", "hosts"])
def test_whatever_algorithm_a_plan_chose_it_makes_the_same_schedule_elsewhere(
    kind: str, topology: str, other: ProcessPoolExecutor
) -> None:
    network = {
        "ring": hm.topologies.ring(6, latency_s=1e-6, bandwidth=1e9),
        "mesh": hm.topologies.mesh([3, 3], latency_s=1e-6, bandwidth=1e9),
        "hosts": hm.topologies.hosts(
            2, 4, latency_s=1e-6, bandwidth=1e10, nic_latency_s=5e-6, nic_bandwidth=1e9
        ),
    }[topology]
    for conditions in (hm.Conditions(), hm.Conditions(slow={1: 2.0}), hm.Conditions(late={1: 1e-2})):
        plan = hm.plan(network, kind, 1 << 20, conditions)
        assert other.submit(travelling.facts, plan).result(timeout=120) == travelling.facts(plan)


def test_a_plan_by_an_algorithm_of_a_users_own_carries_its_schedule() -> None:
    chosen = hm.algorithms.Candidate("mine", "", 1.0, 12, lambda: hm.algorithms.all_gather_ring(4))
    assert pickle.loads(pickle.dumps(chosen)).generate() == hm.algorithms.all_gather_ring(4)


def test_two_results_that_differ_are_not_equal() -> None:
    ring = hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
    schedule = hm.algorithms.all_reduce_ring(4)
    plans = [hm.plan(ring, "all_reduce", nbytes) for nbytes in (4096, 8192)]
    assert plans[0] != plans[1]
    assert plans[0].bound != plans[1].bound
    assert plans[0].bound.bounds[0] != plans[1].bound.bounds[0]
    assert hm.simulate(schedule, ring, 4096) != hm.simulate(schedule, ring, 8192)
    assert hm.LostRankError("gone", 1) != hm.LostRankError("gone", 2)
    assert hm.LostRankError("gone") != hm.FailedRankError("gone")


def test_compiled_functions_travel_by_name(other: ProcessPoolExecutor) -> None:
    made = list(other.map(hm.algorithms.all_reduce_ring, [3, 4], timeout=120))
    assert made == [hm.algorithms.all_reduce_ring(3), hm.algorithms.all_reduce_ring(4)]


def test_a_timeline_of_a_file_travels_by_the_files_path(tmp_path: Path, other: ProcessPoolExecutor) -> None:
    path = tmp_path / "ring.schedb"
    hm.algorithms.all_gather_ring(4).save(path)
    ring = hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
    timeline = hm.simulate(hm.ScheduleFile(path), ring, 4096, network="fifo")
    assert other.submit(travelling.come_back, timeline).result(timeout=120) == timeline


@pytest.mark.parametrize("kind", ERRORS.values(), ids=ERRORS.keys())
def test_an_error_keeps_message_attributes_and_cause(
    kind: type[BaseException], other: ProcessPoolExecutor
) -> None:
    error = travelling.an_error(kind)
    roads = {**ROADS, "spawn": lambda value: other.submit(travelling.come_back, value).result(timeout=120)}
    for road, travel in roads.items():
        back = travel(error)
        assert type(back) is kind, road
        assert travelling.facts(back) == travelling.facts(error), road
        assert back == error, road
        assert hash(back) == hash(error), road
        assert "\n" not in repr(back), road


def test_a_cause_that_cannot_travel_sends_its_text() -> None:
    class HereError(Exception):
        """Of a function's own, which no other process can import."""

    error = hm.ArgumentError("expected a rank")
    error.__cause__ = HereError("found a word")
    sent = io.BytesIO()
    pickler = pickle.Pickler(sent)
    pickler.dispatch_table = {}  # Dask has tblib take causes past __reduce__
    pickler.dump(error)
    assert str(pickle.loads(sent.getvalue()).__cause__) == "HereError: found a word"


def test_what_belongs_to_a_process_refuses_to_leave_it(objects: dict[str, Any]) -> None:
    (said,) = hm.launch(travelling.refusals_of_a_rank, 1, timeout_s=120)
    for travel in ROADS.values():
        with pytest.raises(TypeError) as refused:
            travel(objects["RawMemory"])
        said["RawMemory"] = str(refused.value)
    assert said.keys() == travelling.STAYING.keys()
    for name, advice in travelling.STAYING.items():
        assert name in said[name]
        assert advice in said[name]
