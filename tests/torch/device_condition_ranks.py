# SPDX-License-Identifier: Apache-2.0
"""What ranks of the device path's tests do where ranks are late or slow, or data sparse. Tensors on the CPU stand for
a device's, gloo carries the messages, and the host's executor says which bits are right."""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported: there may be no GPU

import time
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from device_ranks import on_host, own

import hemiola as hm
from hemiola.torch import codec_kernels, device_kernels  # noqa: F401  # once, for all ranks
from hemiola.torch.device_collectives import DeviceCollectives
from hemiola.torch.device_queue import DeviceMessage, ProcessGroupQueue
from hemiola.torch.device_runner import DeviceRunner
from hemiola.torch.lookup import group_of
from hemiola.torch.options import Options

BLOCK = 60
CPU = torch.device("cpu")
#: Collective, how many blocks of its input and result a rank has (0: as many as ranks), type, reduction. Each rank that
#: is late or slow has others of them, since the interpreter takes milliseconds for each kernel.
REDUCED = [
    ("all_reduce", 0, 0, torch.float32, "sum"),
    ("all_reduce", 0, 0, torch.bfloat16, "average"),
    ("all_reduce", 0, 0, torch.int8, "max"),
    ("all_reduce", 0, 0, torch.float16, "sum"),
    ("all_reduce", 0, 0, torch.float64, "product"),
]
OTHERS = [
    ("reduce_scatter", 0, 1, torch.bfloat16, "sum"),
    ("all_gather", 1, 0, torch.bool, "sum"),
    ("broadcast", 0, 0, torch.bfloat16, "sum"),
    ("all_to_all", 0, 0, torch.int32, "sum"),
    ("reduce_scatter", 0, 1, torch.uint8, "min"),
]
IN_PLACE = ("all_reduce", "broadcast")


def network(latency_s: float = 1e-4) -> hm.Topology:
    """Return one that is slow enough for bytes to decide, however few they are."""
    return hm.topologies.switch(dist.get_world_size(), latency_s=latency_s, bandwidth=1e6)


class CountingQueue(ProcessGroupQueue):
    """Counts the bytes that this rank sends."""

    sent = 0

    def exchange(self, messages: Sequence[DeviceMessage]) -> None:
        self.sent += sum(message.memory.numel() for message in messages if message.sending)
        super().exchange(messages)


def runner(**options: Any) -> DeviceRunner:
    """Make what runs on tensors of a device."""
    queue = CountingQueue(dist.new_group(backend="gloo"), CPU)
    return DeviceRunner(queue, group_of()._comm, Options(**{"device_topology": network()} | options))


def compared(
    on: DeviceRunner, case: tuple[Any, ...], density: float = 1.0, block: int = BLOCK
) -> hm.Schedule:
    """Run a collective on the device and on the host, by the same schedule, and compare all bits."""
    kind, brings, gets, dtype, op = case
    rank, n = dist.get_rank(), dist.get_world_size()
    x = own(rank, (brings or n) * block, dtype)
    made = torch.Generator().manual_seed(rank)
    x[torch.rand(x.numel(), generator=made) >= density] = 0
    if 0 < density < 1 and dtype.is_floating_point:
        x[5 + rank], x[20] = -0.0, float("nan")
    in_place = kind in IN_PLACE
    found = x.clone() if in_place else torch.zeros((gets or n) * block, dtype=dtype)
    input = found if in_place else x.clone()
    on.run(kind, input, found, op)
    assert on.latest is not None
    right = x.clone() if in_place else torch.zeros_like(found)
    on_host(group_of()._comm, kind, x, right, op, on.latest)  # refuses ranks with unlike schedules
    assert torch.equal(found.view(torch.uint8), right.view(torch.uint8)), (kind, dtype, op)
    return on.latest


def expected(dtype: Any, **conditions: Any) -> hm.Schedule:
    """Return the planner's all-reduce of a type."""
    nbytes = dtype.itemsize * dist.get_world_size() * BLOCK
    return hm.plan(network(), "all_reduce", nbytes, hm.Conditions(**conditions)).schedule


def with_slow_ranks() -> int:
    """Compare collectives for each slow rank; return how many all-reduces had another schedule than without."""
    changed = 0
    for slow in range(dist.get_world_size()):
        conditions = {"slow": {slow: (1.5, 3.0)[slow % 2]}}
        changed += planned_for(conditions, slow)
    return changed


def with_told_late_ranks() -> int:
    """Compare collectives for each late rank, which really is; return how many all-reduces had another schedule."""
    changed = 0
    for late in range(dist.get_world_size()):
        if dist.get_rank() == late:
            time.sleep(0.02)
        changed += planned_for({"late": {late: 5e-3}}, late)
    return changed


def planned_for(conditions: dict[str, Any], turn: int) -> bool:
    on = runner(device_conditions=hm.Conditions(**conditions))
    ran = compared(on, REDUCED[turn])
    assert ran == expected(REDUCED[turn][3], **conditions)
    compared(on, OTHERS[turn])
    return ran != expected(REDUCED[turn][3])


def with_found_late_ranks() -> int:
    """Compare an all-reduce to which each rank is late in turn, and some to which nobody is. Return how often the
    schedule was the one around that rank."""
    n = dist.get_world_size()
    on = runner(device_finds_late=True, device_topology=network(latency_s=1e-5))
    case = REDUCED[0]
    compared(on, case)  # plans
    around = 0
    for late in range(n):
        dist.barrier()
        if dist.get_rank() == late:
            time.sleep(0.3)
        ran = compared(on, case)
        around += ran == on._plans.around(case[3].itemsize * n * BLOCK, {})[late] if n > 2 else 0
    for _ in range(3):  # whoever is last
        compared(on, case)
    return around


def with_sparse_data() -> list[list[list[int]]]:
    """Compare collectives of data of several densities. Return for each of them, by density, the bytes that the ranks
    have sent, coded and plain."""
    coded, plain = runner(device_sparse=True), runner()
    n = dist.get_world_size()
    found = []
    for turn, density in enumerate((0.0, 0.01, 0.5, 1.0)):
        row = []
        for case in (REDUCED[0], REDUCED[1 + turn], OTHERS[turn], OTHERS[(turn + n) % 5]):
            sent = torch.tensor([sent_by(coded, case, density), sent_by(plain, case, density)])
            dist.all_reduce(sent)
            row.append(sent.tolist())
        found.append(row)
    compared(coded, REDUCED[0], 0.01, block=2 * 4096 + 5)  # several tiles a message
    return found


def sent_by(on: DeviceRunner, case: tuple[Any, ...], density: float) -> int:
    queue: Any = on._queue
    queue.sent = 0
    compared(on, case, density)
    return int(queue.sent)


def refused() -> list[tuple[str, str]]:
    """Return what is said of options that a group cannot have."""
    n = dist.get_world_size()
    wrong: list[dict[str, Any]] = [
        {"device_conditions": hm.Conditions(slow={n: 2.0})},
        {"device_conditions": hm.Conditions(late={n + 1: 2.0})},
        {"device_conditions": hm.Conditions(slow={"nic:mlx5_7": 2.0})},
        {"device_conditions": hm.Conditions(slow={0: 2.0 + dist.get_rank()})},
        {"device_sparse": dist.get_rank() == 1},
        {"device_topology": hm.topologies.switch(n + 1, latency_s=1e-6, bandwidth=1e9)},
    ]
    queue = ProcessGroupQueue(dist.new_group(backend="gloo"), CPU)
    told = []
    for options in wrong:
        try:
            DeviceRunner(queue, group_of()._comm, Options(**options))
            told.append(("", "nothing"))
        except Exception as error:
            told.append((type(error).__name__, str(error)))
    return told


def in_groups() -> list[list[float]]:
    """Run collectives in groups of torch.distributed that have options, with the CPU in the device's place."""
    rank, n = dist.get_rank(), dist.get_world_size()
    gloo = dist.new_group(backend="gloo")
    kept = DeviceCollectives.is_on_device, DeviceCollectives._made_queue
    DeviceCollectives.is_on_device = lambda self, tensor: True  # type: ignore[method-assign]
    DeviceCollectives._made_queue = lambda self, device: ProcessGroupQueue(gloo, device)  # type: ignore[method-assign]
    found = []
    try:
        for options in (
            {"device_finds_late": True},
            {"device_sparse": True},
            {"device_conditions": hm.Conditions(slow={0: 2.0})},
        ):
            asked = Options(device_topology=network(), **options)
            group: Any = dist.new_group(backend="hemiola", pg_options=asked)
            group_of(group).accelerate(None)  # which takes what is on the CPU before anybody asks
            x = torch.zeros(n * BLOCK)
            x[rank] = 1.0
            dist.all_reduce(x, group=group)
            whole = torch.zeros(n)
            dist.all_gather_into_tensor(whole, x[:1] + rank, group=group)
            found.append([x.sum().item(), *whole.tolist()])
            dist.destroy_process_group(group)
    finally:
        DeviceCollectives.is_on_device, DeviceCollectives._made_queue = kept  # type: ignore[method-assign]
    return found


class CapturedQueue(ProcessGroupQueue):
    """Says that a graph captures what it is given."""

    def is_captured(self) -> bool:
        return True


def captured() -> list[str]:
    """Return what is said where a graph would keep what has to be asked in each operation."""
    queue = CapturedQueue(dist.new_group(backend="gloo"), CPU)
    told = []
    for options in ({"device_sparse": True}, {"device_finds_late": True}, {}):
        topology = network(latency_s=1e-5)
        on = DeviceRunner(queue, group_of()._comm, Options(device_topology=topology, **options))
        x = torch.ones(dist.get_world_size() * BLOCK)
        try:
            on.run("all_reduce", x, x)
            assert bool((x == dist.get_world_size()).all())
            told.append("nothing")
        except hm.ArgumentError as error:
            told.append(str(error))
    return told
