# SPDX-License-Identifier: Apache-2.0
"""What ranks of the tests of torch.distributed do in a group of "hemiola"; each checks its own results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

import hemiola.torch as hemiola_torch
from hemiola.torch.operation_types import UNKNOWN


def place() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def own(rank: int, *shape: int, dtype: Any = torch.float32) -> Any:
    """Return what a rank brings: small whole numbers, whose sums are exact in any order."""
    return (torch.arange(torch.Size(shape).numel()).reshape(shape) % 7 + rank).to(dtype)


def same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def names() -> tuple[str, str]:
    return dist.get_backend(), dist.group.WORLD.name()


def collectives() -> None:
    """Every collective, on one tensor and on lists, blocking and in the background."""
    every_collective(False, lambda work: None)
    every_collective(True, lambda work: work.wait())


def every_collective(in_background: bool, done: Callable[[Any], Any]) -> None:
    rank, n = place()
    x = own(rank, 5, 3)
    done(dist.all_reduce(x, async_op=in_background))
    same(x, sum(own(each, 5, 3) for each in range(n)))
    x = own(rank, 4)
    done(dist.broadcast(x, 1, async_op=in_background))
    same(x, own(1, 4))
    x = own(rank, 4)
    done(dist.reduce(x, 1, op=dist.ReduceOp.MAX, async_op=in_background))
    same(x, own(n - 1 if rank == 1 else rank, 4))
    whole = torch.empty(n * 6)
    done(dist.all_gather_into_tensor(whole, own(rank, 6), async_op=in_background))
    same(whole, torch.cat([own(each, 6) for each in range(n)]))
    into = [torch.empty(2, 3) for _ in range(n)]
    done(dist.all_gather(into, own(rank, 2, 3), async_op=in_background))
    same(into, [own(each, 2, 3) for each in range(n)])
    part = torch.empty(3)
    done(dist.reduce_scatter_tensor(part, own(rank, 3 * n), async_op=in_background))
    same(part, sum(own(each, 3 * n) for each in range(n))[3 * rank : 3 * rank + 3])
    lists = [own(rank + to, 3) for to in range(n)]
    done(dist.reduce_scatter(part, lists, op=dist.ReduceOp.MIN, async_op=in_background))
    same(part, own(rank, 3))
    got = torch.empty(2 * n)
    done(
        dist.all_to_all_single(
            got, torch.cat([own(10 * rank + to, 2) for to in range(n)]), async_op=in_background
        )
    )
    same(got, torch.cat([own(10 * each + rank, 2) for each in range(n)]))
    gathered = [torch.empty(3) for _ in range(n)] if rank == 1 else None
    done(dist.gather(own(rank, 3), gathered, dst=1, async_op=in_background))
    if gathered is not None:
        same(gathered, [own(each, 3) for each in range(n)])
    given = [own(each, 3) for each in range(n)] if rank == 1 else None
    done(dist.scatter(part, given, src=1, async_op=in_background))
    same(part, own(rank, 3))
    done(dist.barrier(async_op=in_background))


def uneven() -> None:
    """Blocks of different sizes, by split sizes and by lists."""
    rank, n = place()
    sizes = [rank + to for to in range(n)]
    given = torch.cat([own(10 * rank + to, rank + to, 2) for to in range(n)])
    got = torch.empty(sum(sizes), 2)
    dist.all_to_all_single(got, given, sizes, sizes)
    same(got, torch.cat([own(10 * each + rank, rank + each, 2) for each in range(n)]))
    into = [torch.empty(rank + each, 2) for each in range(n)]
    dist.all_to_all(into, list(given.split(sizes)))
    same(into, [own(10 * each + rank, rank + each, 2) for each in range(n)])
    into = [torch.empty(each + 1) for each in range(n)]
    dist.all_gather(into, own(rank, rank + 1))
    same(into, [own(each, each + 1) for each in range(n)])
    mine = torch.empty(rank + 1)
    dist.reduce_scatter(mine, [own(rank, to + 1) for to in range(n)])
    same(mine, sum(own(each, rank + 1) for each in range(n)))


def pieces() -> None:
    """Lists that are the chunks of one tensor are used where they lie, also where the input is one of them."""
    rank, n = place()
    whole = torch.zeros(n + 2, 3)
    dist.all_gather(list(whole[1:-1].reshape(-1).chunk(n)), own(rank, 3))
    same(whole[1:-1], torch.stack([own(each, 3) for each in range(n)]))
    same(whole[[0, -1]], torch.zeros(2, 3))
    part, lists = torch.zeros(3), list(own(rank, n * 3).chunk(n))
    dist.reduce_scatter(part, lists)
    same(part, sum(own(each, n * 3) for each in range(n))[3 * rank : 3 * rank + 3])
    same(torch.cat(lists), own(rank, n * 3))
    chunks = list(own(rank, n * 3).chunk(n))
    dist.all_gather(chunks, chunks[0])
    same(torch.cat(chunks), torch.cat([own(each, n * 3)[:3] for each in range(n)]))


def objects() -> None:
    rank, n = place()
    gathered: list[Any] = [None] * n
    dist.all_gather_object(gathered, {"rank": rank, "words": ["a"] * rank})
    assert gathered == [{"rank": each, "words": ["a"] * each} for each in range(n)]
    told = [f"from {rank}"]
    dist.broadcast_object_list(told, 1)
    assert told == ["from 1"]
    mine: list[Any] = [None]
    dist.scatter_object_list(mine, [f"for {each}" for each in range(n)] if rank == 0 else None, 0)
    assert mine == [f"for {rank}"]


def layouts() -> None:
    """Channels-last and permuted tensors are reduced and sent where they lie."""
    rank, n = place()
    x = own(rank, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    address = x.data_ptr()
    dist.all_reduce(x)
    same(x, sum(own(each, 2, 3, 4, 5) for each in range(n)).contiguous(memory_format=torch.channels_last))
    assert x.data_ptr() == address
    x = own(rank, 3, 4).t()
    dist.broadcast(x, 1)
    same(x, own(1, 3, 4).t())
    whole = torch.empty(n, 4, 3)
    dist.all_gather_into_tensor(whole, own(rank, 3, 4).t())
    same(whole, torch.stack([own(each, 3, 4).t() for each in range(n)]))
    x = torch.zeros((), requires_grad=True)
    dist.all_reduce(x.data.add_(rank))
    same(x.detach(), torch.tensor(float(sum(range(n)))))


def told(call: Callable[[], Any]) -> tuple[str, str]:
    """Return the error that a call raises."""
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def blamed(call: Callable[[], Any]) -> tuple[str, str, int | None]:
    """Return the error that a call raises, and the rank that it blames."""
    try:
        call()
    except Exception as error:
        cause = getattr(error, "cause", None)
        return type(error).__name__, str(error), cause.rank if cause is not None else None
    return "", "", None


def all_together(tensors: list[Any]) -> None:
    """Reduce each by a call of its own, and wait for all."""
    with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        for tensor in tensors:
            dist.group.WORLD.allreduce(tensor)
    manager.wait()


def mistakes() -> dict[str, tuple[str, str]]:
    """What does not fit together is an error on every rank; afterwards the group works."""
    rank, n = place()
    gaps = torch.zeros(4, 4)[:, ::2] if rank == 1 else torch.zeros(8)
    counts = torch.zeros(4 if rank == 1 else 5)
    kinds = torch.zeros(4, dtype=torch.int32 if rank == 1 else torch.int64)
    wide = torch.zeros(4, dtype=torch.float64 if rank == 1 else torch.float32)
    op = dist.ReduceOp.MAX if rank == 1 else dist.ReduceOp.SUM
    splits = [2] * n if rank == 1 else [1] * n
    seen = {
        "not side by side": told(lambda: dist.all_reduce(gaps)),
        "sizes": told(lambda: dist.all_reduce(counts)),
        "types": told(lambda: dist.all_reduce(kinds)),
        "reductions": told(lambda: dist.all_reduce(torch.zeros(4), op=op)),
        "in the background": told(lambda: dist.all_reduce(counts, async_op=True).wait()),
        "roots": told(lambda: dist.broadcast(torch.zeros(4), 1 if rank == 1 else 0)),
        "order": told(lambda: dist.barrier() if rank == 1 else dist.all_reduce(torch.zeros(4))),
        "split sizes": told(
            lambda: dist.all_to_all_single(torch.zeros(sum(splits)), torch.zeros(n), splits, [1] * n)
        ),
        "lists": told(lambda: dist.all_gather([torch.zeros(2)] * (n - (rank == 1)), torch.zeros(2))),
        "a list to gather into": told(
            lambda: dist.gather(
                torch.zeros(2), [torch.zeros(2 + k) for k in range(n)] if rank == 1 else None, dst=1
            )
        ),
        "a list to scatter": told(
            lambda: dist.scatter(
                torch.zeros(2), [torch.zeros(2 + k) for k in range(n)] if rank == 1 else None, src=1
            )
        ),
        "gathered": told(
            lambda: dist.gather(counts, [torch.zeros(5) for _ in range(n)] if rank == 0 else None, dst=0)
        ),
        "scattered": told(
            lambda: dist.scatter(counts, [torch.zeros(5) for _ in range(n)] if rank == 0 else None, src=0)
        ),
        "one of several": told(
            lambda: dist.group.WORLD.allreduce_coalesced([torch.zeros(2), wide, torch.zeros(3)]).wait()
        ),
        "several of several": told(lambda: all_together([torch.zeros(2), gaps, torch.zeros(3), gaps])),
    }
    x = torch.ones(3)
    dist.all_reduce(x)
    same(x, torch.full((3,), float(n)))
    return seen


def works() -> None:
    """What PyTorch holds of an operation."""
    rank, n = place()
    x = own(rank, 1000)
    work = dist.all_reduce(x, async_op=True)
    then = work.get_future().then(lambda future: future.value()[0] * 2)
    same(then.wait(), 2 * sum(own(each, 1000) for each in range(n)))
    assert work.wait()
    assert work.is_completed()
    assert work.is_success()
    assert work.exception() is None
    same(work.result()[0], x)
    into = [torch.empty(3) for _ in range(n)]
    future = dist.all_gather(into, own(rank, 3), async_op=True).get_future()
    future.wait()
    same(into, [own(each, 3) for each in range(n)])


def failed_futures() -> list[tuple[str, str]]:
    """A future of an operation that fails raises, and so does what follows from it."""
    rank, _ = place()
    seen = []
    for _ in range(2):
        work = dist.all_reduce(torch.zeros(4 + rank), async_op=True)
        future = work.get_future()
        seen.append(told(future.wait))
        seen.append(told(future.then(lambda done: done.value()).wait))
        seen.append(told(work.wait))
        assert isinstance(work.exception(), Exception)
        assert not work.is_success()
    return seen


def together() -> None:
    """Several operations as one."""
    rank, n = place()
    tensors = [own(rank, 3 + k) for k in range(4)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    manager.wait()
    same(tensors, [sum(own(each, 3 + k) for each in range(n)) for k in range(4)])
    wholes = [torch.empty(n * (3 + k)) for k in range(4)]
    with dist._coalescing_manager():
        for k, whole in enumerate(wholes):
            dist.all_gather_into_tensor(whole, own(rank, 3 + k))
    same(wholes, [torch.cat([own(each, 3 + k) for each in range(n)]) for k in range(4)])
    x, y = own(rank, 5), own(rank, 2)
    with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        dist.group.WORLD.broadcast(x, 1)
        dist.group.WORLD.allreduce(y)
    manager.wait()


def messages() -> None:
    """Between two ranks: with tags, and several at once."""
    rank, n = place()
    right, left = (rank + 1) % n, (rank - 1) % n
    x, y = torch.empty(3), torch.empty(4)
    sends = [dist.isend(own(rank, 4), right, tag=2), dist.isend(own(rank, 3), right, tag=1)]
    receives = [dist.irecv(x, left, tag=1), dist.irecv(y, left, tag=2)]
    for work in sends + receives:
        work.wait()
    same([x, y], [own(left, 3), own(left, 4)])
    ops = [dist.P2POp(dist.isend, own(rank, 3), right), dist.P2POp(dist.irecv, x, left)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    same(x, own(left, 3))


def messages_of_whoever_sends() -> None:
    """From any rank to one, which learns from which."""
    rank, n = place()
    if rank == 0:
        x, came = torch.empty(3), set()
        for _ in range(n - 1):
            source = dist.recv(x)
            same(x, own(10 + source, 3))
            came.add(source)
        assert came == set(range(1, n))
    else:
        dist.send(own(10 + rank, 3), 0)


def groups() -> None:
    """Groups of some of the ranks, at the same time."""
    rank, n = place()
    pairs = [[a, b] for a in range(n) for b in range(a + 1, n)]
    made = [dist.new_group(pair) for pair in pairs]
    for pair, group in zip(pairs, made, strict=True):
        if rank in pair:
            x = torch.tensor([float(rank)])
            dist.all_reduce(x, group=group)
            same(x, torch.tensor([float(sum(pair))]))
    for group in made:
        dist.destroy_process_group(group)
    part = dist.group.WORLD.split_group([1, 0]) if rank < 2 else dist.group.WORLD.split_group([2])
    assert part.rank() == {0: 1, 1: 0, 2: 0}[rank]
    part.barrier().wait()
    part.shutdown()


def options() -> tuple[str, str]:
    """A group whose ranks want it otherwise than each other, and then one of which all want the same."""
    rank, _ = place()
    wanted = hemiola_torch.Options(adapt="none" if rank == 1 else "slow")
    seen = told(lambda: dist.new_group(pg_options=wanted))
    group = dist.new_group(pg_options=hemiola_torch.Options(adapt="slow", keep_inputs=True))
    dist.barrier(group=group)
    dist.destroy_process_group(group)
    return seen


def merged() -> list[int]:
    """Two groups become one, whose ranks are numbered as they come; one too many is refused."""
    rank, n = place()
    dist.barrier()
    alone = dist.new_group([rank], use_local_synchronization=True)
    store: Any = dist.PrefixStore("merged", dist.group.WORLD.get_group_store())
    whole: Any = alone.merge_remote_group(store, n, timeout=timedelta(seconds=30), group_name="whole")
    x = torch.tensor([float(rank)])
    whole.allreduce([x]).wait()
    same(x, torch.tensor([float(sum(range(n)))]))
    assert whole.size() == n
    assert whole.group_name == "whole"
    number: int = whole.rank()
    whole.shutdown()
    kind, message = told(lambda: alone.merge_remote_group(store, n))
    assert (kind, "use a new store" in message) == ("GroupArgumentError", True)
    return number


def estimated() -> dict[str, Any]:
    """What PyTorch's estimator says of collectives that do not run, and what it refuses; nothing without it."""
    rank, n = place()
    if not hasattr(dist, "_time_estimator"):
        return {}
    sizes = {"small": 1 << 10, "large": 1 << 22}
    seen: dict[str, Any] = {}
    for name, size in sizes.items():
        x = torch.ones(size)
        with dist._time_estimator(device=torch.device("cpu")) as cm:
            dist.all_reduce(x)
            work = dist.all_reduce(x, async_op=True)
            work.wait()
        same(x, torch.ones(size))
        seen[name] = cm.estimated_time
    group = hemiola_torch.lookup.group_of()
    asked = len(group.recorder.latest())
    for name, call in {
        "all_gather": lambda: dist.all_gather_into_tensor(torch.empty(n * 4096), torch.ones(4096)),
        "scatter": lambda: dist.scatter(
            torch.empty(4096), [torch.ones(4096)] * n if rank == 1 else None, src=1
        ),
        "nothing": lambda: dist.all_reduce(torch.empty(0)),
        "barrier": lambda: group.barrier(),
    }.items():
        with dist._time_estimator(device=torch.device("cpu")) as cm:
            call()
        seen[name] = cm.estimated_time
    assert len(group.recorder.latest()) == asked
    group._start_time_estimate()
    seen["refused"] = [
        told(lambda: dist.send(torch.ones(1), (rank + 1) % n)),
        told(lambda: dist.all_gather([torch.empty(k + 1) for k in range(n)], torch.ones(rank + 1))),
        told(lambda: dist.all_reduce(torch.ones(3).to_sparse())),
        told(lambda: dist.all_reduce(torch.ones(4, 4)[:, ::2])),
    ]
    group._end_time_estimate()
    seen["twice"] = told(group._end_time_estimate)
    x = torch.ones(2)
    dist.all_reduce(x)
    same(x, torch.full((2,), float(n)))
    return seen


def timed() -> list[float]:
    """How long operations have run, blocking and not, in milliseconds."""
    group: Any = hemiola_torch.lookup.group_of()
    group._enable_collectives_timing()
    running = dist.all_reduce(torch.ones(1 << 16), async_op=True)
    running.wait()
    waited_for = dist.barrier(async_op=True)
    waited_for.wait()
    blocking = c10d.AllreduceOptions()
    if hasattr(blocking, "asyncOp"):  # else nothing tells a group that a call blocks
        blocking.asyncOp = False
    works = (running, waited_for, group.allreduce([torch.ones(1 << 16)], blocking))
    works[-1].wait()
    return [work._get_duration() for work in works]


def properties() -> None:
    """Whatever PyTorch has for a group to say of itself is said, or refused as not there."""
    world: Any = dist.group.WORLD
    for asked in (world, world._get_backend(torch.device("cpu"))):
        for name in dir(type(asked)):
            if isinstance(getattr(type(asked), name, None), property):
                with suppress(NotImplementedError):
                    getattr(asked, name)


def watched_barrier() -> list[tuple[str, str, int | None]]:
    """A barrier that says who is missing, after which the group and the next barrier work."""
    rank, n = place()
    world = dist.group.WORLD
    world.monitored_barrier(timedelta(seconds=20))
    seen = []
    if rank != 1:
        seen.append(blamed(lambda: world.monitored_barrier(timedelta(seconds=2))))
    dist.barrier()
    if rank == 0:
        seen.append(blamed(lambda: world.monitored_barrier(timedelta(seconds=0.1), wait_all_ranks=True)))
    dist.barrier()
    world.monitored_barrier(timedelta(seconds=20))
    x = torch.ones(2)
    dist.all_reduce(x)
    same(x, torch.full((2,), float(n)))
    return seen


def sequence() -> list[int]:
    """Collectives are counted, and the gloo inside has had none of them."""
    world = dist.group.WORLD
    before = world._get_sequence_number_for_group()
    dist.all_reduce(torch.ones(2))
    dist.barrier()
    inner = world._get_backend(torch.device("cpu"))
    return [world._get_sequence_number_for_group() - before, inner._get_sequence_number_for_group()]


def operation_types() -> tuple[dict[str, tuple[int, int]], tuple[str, str]]:
    """Return by operation what its Work says that it is, ours and gloo's; and what waiting for pending works raises."""
    rank, n = place()
    gloo, world = dist.new_group(backend="gloo"), dist.group.WORLD
    t, parts = torch.ones(n), [torch.ones(1) for _ in range(n)]
    following, before = (rank + 1) % n, (rank - 1) % n
    works: dict[str, Callable[[Any], Any]] = {
        "all_reduce": lambda group: dist.all_reduce(t, group=group, async_op=True),
        "broadcast": lambda group: dist.broadcast(t, 0, group=group, async_op=True),
        "reduce": lambda group: dist.reduce(t, 0, group=group, async_op=True),
        "all_gather": lambda group: dist.all_gather(parts, t[:1], group=group, async_op=True),
        "all_gather_into_tensor": lambda group: dist.all_gather_into_tensor(
            t, torch.ones(1), group=group, async_op=True
        ),
        "reduce_scatter": lambda group: dist.reduce_scatter(torch.ones(1), parts, group=group, async_op=True),
        "all_to_all": lambda group: dist.all_to_all_single(t, torch.ones(n), group=group, async_op=True),
        "gather": lambda group: dist.gather(t[:1], parts if rank == 0 else None, 0, group, async_op=True),
        "scatter": lambda group: dist.scatter(t[:1], parts if rank == 0 else None, 0, group, async_op=True),
        "barrier": lambda group: dist.barrier(group=group, async_op=True),
        "send": lambda group: dist.isend(t, following, group=group),
        "recv": lambda group: dist.irecv(torch.empty(n), before, group=group),
    }
    found, begun = {}, list[Any]()
    for name, begin in works.items():
        begun.append(begin(world))
        ours = begun[-1]._get_op_type()
        try:
            begun.append(begin(gloo))
            found[name] = ours, begun[-1]._get_op_type()
        except RuntimeError:  # some gloos do not have all
            found[name] = ours, UNKNOWN
        for work in begun if name != "send" else []:  # whose receivers come next
            work.wait()
    dist.barrier(gloo)
    dist.destroy_process_group(gloo)
    return found, told(lambda: world._wait_for_pending_works())


def inside() -> list[Any]:
    """What goes around the group, to the gloo inside, is refused at once, unless that had to connect when it was made;
    a timeout that PyTorch sets there is the group's."""
    world: Any = dist.group.WORLD
    inner = world._get_backend(torch.device("cpu"))
    refused = [
        told(call)
        for call in (lambda: inner.allreduce([torch.ones(2)]).wait(), lambda: inner.barrier().wait())
    ]
    limit_s = world._limit_s
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=77))
    found_s, world._limit_s = world._limit_s, limit_s
    dist.barrier()
    is_lazy = "lazy_init" in c10d.ProcessGroupGloo.create_device.__doc__
    return [is_lazy, refused, found_s]


def late() -> tuple[tuple[str, str, int | None], float]:
    """An operation that takes too long raises within its time, before who is missing has come; last, for the group is
    dead then."""
    rank, n = place()
    store = dist.distributed_c10d._get_default_store()
    if rank == n - 1:
        store.wait([f"told {other}" for other in range(n - 1)])
        return ("", "", None), 0.0
    opts = torch._C._distributed_c10d.AllreduceOptions()
    opts.timeout = timedelta(seconds=0.5)
    began = time.monotonic()
    seen = blamed(lambda: dist.group.WORLD.allreduce([torch.ones(3)], opts).wait())
    took_s = time.monotonic() - began
    store.set(f"told {rank}", "")
    return seen, took_s


def aborted() -> list[tuple[str, str]]:
    """`abort` in another thread ends what waits, and all that comes later; last, for the group is dead then."""
    rank, _ = place()
    store = dist.distributed_c10d._get_default_store()

    def abort() -> None:
        dist.group.WORLD.abort()
        store.set("aborted", "")

    waiting = dist.irecv(torch.ones(3), 1 - rank, tag=5) if rank < 2 else None
    aborting = threading.Timer(0.3, abort)
    if rank == 0:
        aborting.start()
    if rank == 2:
        store.wait(["aborted"])
    seen = [told(lambda: dist.all_reduce(torch.ones(3)))]
    seen += [] if waiting is None else [told(waiting.wait)]
    barrier = dist.group.WORLD.monitored_barrier
    seen += [
        told(lambda: barrier(timedelta(seconds=1))),
        told(lambda: dist.send(torch.ones(1), 1 - rank % 2)),
    ]
    if rank == 0:
        aborting.join()  # who waits for its word would wait for ever if the process ended first
    return seen
