# SPDX-License-Identifier: Apache-2.0
"""Works for a PyTorch that forgets them, groups for one that does not say when it has destroyed them, and what groups
count without other ranks: numbers, messages, estimates."""

from __future__ import annotations

import gc
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist

import hemiola as hm
from hemiola.torch import making
from hemiola.torch.accelerated_collectives import AcceleratedCollectives
from hemiola.torch.call import Call
from hemiola.torch.kept_works import KeptWorks, pytorch_keeps_works
from hemiola.torch.recorder import Recorder
from hemiola.torch.time_estimate import TimeEstimate
from hemiola.torch.work import Finished, Running


class Handle:
    """What a Work waits for."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def wait(self, limit_s: float | None = None) -> None:
        self.over.wait(limit_s)

    def done(self) -> bool:
        return self.over.is_set()


def begun(tensor: Any) -> tuple[Running, Handle]:
    handle: Any = Handle()
    return Running([handle], [[tensor]], None), handle


def test_a_work_that_nobody_holds_lives_on_and_its_tensors_do_not() -> None:
    kept = KeptWorks()
    tensor = torch.ones(3)
    work, handle = begun(tensor)
    kept.add(work)
    seen, of_tensor = weakref.ref(work), weakref.ref(tensor)
    del work, tensor
    gc.collect()
    assert of_tensor() is not None  # the operation writes to it
    handle.over.set()
    living = seen()
    assert living is not None
    assert living.wait()
    gc.collect()
    assert of_tensor() is None


def test_whoever_holds_the_tensors_finds_them_in_the_result_and_in_the_future() -> None:
    kept = KeptWorks()
    tensor = torch.ones(3)
    work, handle = begun(tensor)
    handle.over.set()
    finished = Finished([tensor])
    for one in (work, finished):
        kept.add(one)
        one.wait()
    assert work.result()[0][0] is tensor
    assert work.get_future().wait()[0][0] is tensor
    assert finished.result()[0] is tensor
    assert finished.get_future().wait()[0] is tensor
    del tensor
    gc.collect()
    with pytest.raises(RuntimeError, match="whose tensors are gone"):
        work.result()


def test_a_future_keeps_its_tensors_though_nobody_else_does() -> None:
    kept = KeptWorks()
    work, handle = begun(torch.ones(3))
    kept.add(work)
    handle.over.set()
    future = work.get_future()  # as of a tensor that a hook of DDP's has made for the call
    gc.collect()
    assert torch.equal(future.wait()[0][0], torch.ones(3))


def test_tensors_of_what_ended_and_nobody_waits_for_go_when_the_next_is_begun() -> None:
    kept = KeptWorks()
    tensor = torch.ones(3)
    work, handle = begun(tensor)
    kept.add(work)
    handle.over.set()
    of_tensor = weakref.ref(tensor)
    del work, tensor
    kept.add(Finished([]))
    gc.collect()
    assert of_tensor() is None


def test_this_pytorch_keeps_works() -> None:
    """The one of `make test` does; where one does not, the trainings of tests/torch hang unless groups keep theirs."""
    assert pytorch_keeps_works() == hasattr(dist.ProcessGroup, "shutdown")


def test_a_group_that_pytorch_has_forgotten_is_closed_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    class Group:
        is_pytorchs = True
        is_open = True

        def shutdown(self) -> None:
            self.is_open = False

    known, forgotten, of_others = Group(), Group(), Group()
    of_others.is_pytorchs = False  # made by split_group, say: PyTorch never knew it
    monkeypatch.setattr(making, "OPEN", {known, forgotten, of_others})
    monkeypatch.setitem(dist.distributed_c10d._world.pg_map, known, None)
    making._close_forgotten()
    assert [group.is_open for group in (known, forgotten, of_others)] == [True, False, True]


def test_a_work_that_is_over_says_so_and_waits_for_nothing() -> None:
    tensor = torch.ones(3)
    work = Finished([tensor])
    assert work.wait() is True
    assert work.is_completed() is True
    assert work.is_success() is True
    assert work.exception() is None
    assert work.get_future().done()


@pytest.mark.parametrize("compiled", [False, True])
def test_collectives_are_numbered_one_by_one_past_python_and_through_it(compiled: bool) -> None:
    group: Any = AcceleratedCollectives.__new__(AcceleratedCollectives)
    group.accelerate(SimpleNamespace(number=0, count=0) if compiled else None)
    group._begin_numbers()
    for _ in range(2):
        assert group._number() == 0
        assert [group._next_number() for _ in range(3)] == [1, 2, 3]
        assert group._number() == 3
        group._begin_numbers()


def test_a_message_is_recorded_as_the_input_of_its_sender_and_the_output_of_its_receiver() -> None:
    recorder = Recorder(lambda error: None)
    sent, received = (recorder.message(kind, torch.ones(5), 0, 1) for kind in ("send", "recv"))
    assert (sent.sizes, received.sizes) == ((5, 0), (0, 5))
    assert sent.peers == received.peers == (0, 1)
    assert recorder.totals() == {"send": (1, 20), "recv": (1, 20)}


class Planned:
    """What an estimate asks of a communicator."""

    def __init__(self, rank_count: int) -> None:
        self.rank_count = rank_count
        self.topology = hm.topologies.switch(rank_count, latency_s=1e-6, bandwidth=1e9)

    def plan(self, kind: str, nbytes: int, root: int) -> hm.Plan:
        return hm.plan(self.topology, kind, nbytes, root=root)

    def all_reduce(self, array: Any) -> None:
        raise AssertionError("nothing runs in an estimate")


@pytest.mark.parametrize(
    ("ranks", "sizes"), [(1, [1 << 20]), (2, [0]), (4, [1 << 20]), (4, [0, 1 << 10, 1 << 20])]
)
def test_an_estimate_adds_up_plans_and_nothing_where_nothing_is_sent(ranks: int, sizes: list[int]) -> None:
    comm: Any = Planned(ranks)
    estimate = TimeEstimate(comm)
    estimate.add([Call("all_reduce", np.zeros(size, np.uint8)) for size in sizes])
    sent = [size for size in sizes if size and ranks > 1]
    expected_us = sum(1e6 * comm.plan("all_reduce", size, 0).seconds for size in sent)
    assert estimate.microseconds == pytest.approx(expected_us)
    assert (estimate.microseconds > 0) == bool(sent)
