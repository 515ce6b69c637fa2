# SPDX-License-Identifier: Apache-2.0
"""A check-up: ranks that compute a little, run collectives and look for causes of slowness, with faults on request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hemiola._core import Collective, Schedule, Topology
from hemiola.communicator import Communicator, init
from hemiola.communicator.fixed_work import do_work, slow_host
from hemiola.communicator.launch_environment import Job
from hemiola.conditions import Conditions, SlowFactors
from hemiola.diagnosis import Diagnosis
from hemiola.diagnosis.network import paths_between
from hemiola.errors import ArgumentError
from hemiola.launch import launch
from hemiola.progress import ProgressBar
from hemiola.topology.named_nics import settled
from hemiola.topology.port_speed import port_speed

#: Operations that use every pair of ranks; a communicator keeps the rates of so many.
_PROBES = 16
#: The time of a probe's message on a healthy network; the least time of a step's collective on a port.
_MESSAGE_S, _STEP_S = 0.003, 0.015
_LEAST_LATENCIES = 4
_SHARED_MEMORY_BYTES = 1 << 20
_LEAST_BYTES, _MOST_BYTES = 4 << 10, 64 << 20
#: Steps may take this share of the time there is; a probe takes about as long as a step.
_STEPS_SHARE = 0.6
#: Fewer steps show nothing, however long they take.
_LEAST_STEPS = 3
#: Pairs that a probe tries; beyond, only ranks that are close by their numbers.
_MOST_PAIRS = 4096


@dataclass(frozen=True)
class Faults:
    """Faults to put in, so that one can see how they are noticed.

    Attributes
    ----------
    late : mapping of rank to seconds that it takes longer before every operation.
    slow : mapping of rank, or NIC such as "nic:mlx5_1", to factor by which its ports are slower; needs an emulated
        network, as links do.
    slow_links : mapping of (a, b) to factor by which the link between the two is slower, both ways where there are two.
    slow_hosts : mapping of host to factor by which its ranks work slower.
    """

    late: Mapping[int, float] = field(default_factory=dict)
    slow: SlowFactors = field(default_factory=dict)
    slow_links: Mapping[tuple[int, int], float] = field(default_factory=dict)
    slow_hosts: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Checkup:
    """The ranks' work: `steps` all-reduces with `work` pieces of fixed work before each, then the probes.

    On a machine where all that takes longer than `longest_s` there are fewer of both; the finished ones are judged.
    """

    rank_count: int
    emulate: Topology | None = None
    faults: Faults = field(default_factory=Faults)
    steps: int = 48
    work: float = 4.0
    longest_s: float = 30.0


def check_up(checkup: Checkup, *, timeout_s: float | None = None, job: Job | None = None) -> Diagnosis:
    """Start ranks, have them work together for a while, and find their faults.

    Parameters
    ----------
    checkup : Checkup.
    timeout_s : float, optional; how long all of it may take.
    job : Job, optional; work as one of its ranks, all of which call this, instead of starting any.

    Returns
    -------
    Diagnosis.

    Raises
    ------
    ArgumentError
        for a fault that needs a network where none is emulated, and for a rank, link or host that there is not.
    FailedRankError, TimeoutError
        as `hemiola.launch` raises them.
    """
    _check(checkup)
    if job is not None:
        return _be_checked(checkup, init(emulate=checkup.emulate))
    return launch(_be_checked, checkup.rank_count, checkup, emulate=checkup.emulate, timeout_s=timeout_s)[0]


def _check(checkup: Checkup) -> None:
    faults, network = checkup.faults, checkup.emulate
    if network is None and (faults.slow or faults.slow_links):
        raise ArgumentError("slow ports and links are emulated, so they need a cluster: --emulate")
    if network is not None:
        settled(network, Conditions(slow=faults.slow))  # refuses NICs that it has not
    links = set() if network is None else {(int(link["src"]), int(link["dst"])) for link in network.links}
    for a, b in faults.slow_links:
        if not {(a, b), (b, a)} & links:
            raise ArgumentError(f"expected a link of the cluster, found {a}-{b}")
    hosts = {0} if network is None else {int(host) for host in network.nodes}
    for host in faults.slow_hosts:
        if host not in hosts:
            raise ArgumentError(f"expected a host of 0 … {len(hosts) - 1}, found {host}")
    for rank in (*faults.late, *Conditions(slow=faults.slow).slow_ranks):
        if not 0 <= rank < checkup.rank_count:
            raise ArgumentError(f"expected a rank of 0 … {checkup.rank_count - 1}, found {rank}")


def _be_checked(checkup: Checkup, comm: Communicator | None = None) -> Diagnosis:
    """Be one of the ranks, of a communicator of the job's or of those that were started for this."""
    comm = comm or init()
    network = checkup.emulate
    _put_in(comm, checkup.faults, network)
    host = int(network.nodes[comm.rank]) if network is not None else 0
    x = np.zeros(_step_bytes(network) // 4, np.float32)
    probe = _probe(network) if network is not None and comm.rank_count > 1 else None
    blocks = np.zeros(
        _probe_bytes(network, probe) if probe is not None and network is not None else 0, np.uint8
    )
    probes = _PROBES * (probe is not None)
    steps, done = checkup.steps, 0
    start = time.monotonic()
    with slow_host(checkup.faults.slow_hosts.get(host, 1.0)), ProgressBar("checking") as bar:
        while done < steps + probes:
            do_work(checkup.work)
            time.sleep(checkup.faults.late.get(comm.rank, 0.0))
            if done < steps or probe is None:
                x[:] = time.monotonic() - start
                comm.all_reduce(x, sparse=False)
                elapsed_s = float(x[0]) / comm.rank_count  # the same on every rank, so all end together
                if done + 1 >= _LEAST_STEPS and elapsed_s > _STEPS_SHARE * checkup.longest_s:
                    steps = done + 1
                if done + 1 == steps:
                    left_s = max(0.0, checkup.longest_s - elapsed_s)
                    probes = min(probes, int(left_s / (elapsed_s / steps)))
            else:
                comm.custom(blocks, schedule=probe)
            done += 1
            if comm.rank == 0:
                bar(done, steps + probes)
        return comm.diagnose()


def _put_in(comm: Communicator, faults: Faults, network: Topology | None) -> None:
    """Make ports and links slower; nobody is told."""
    if network is None or not (faults.slow or faults.slow_links):
        return
    there = {(int(link["src"]), int(link["dst"])) for link in network.links}
    slow: dict[int | tuple[int, int] | str, float] = {key: factor for key, factor in faults.slow.items()}
    for (a, b), factor in faults.slow_links.items():
        slow.update({link: factor for link in ((a, b), (b, a)) if link in there})
    if comm.rank == 0:
        comm.degrade(slow)
    comm.barrier()


def _step_bytes(network: Topology | None) -> int:
    if network is None:
        return _SHARED_MEMORY_BYTES
    return int(np.clip(port_speed(network).bandwidth * _STEP_S / 2, _LEAST_BYTES, _MOST_BYTES)) // 4 * 4


def _probe_bytes(network: Topology, probe: Schedule) -> int:
    """Return the size of the buffer of which every pair sends a chunk."""
    speed = port_speed(network)
    message = speed.bandwidth * max(_MESSAGE_S, _LEAST_LATENCIES * speed.latency_s)
    return int(np.clip(message, _LEAST_BYTES, _MOST_BYTES)) * probe.chunk_count


def _probe(network: Topology) -> Schedule:
    """Return a schedule in which every pair of ranks that the network joins without other ranks sends a chunk.

    In each step pairs share no link, so that each has its way for itself.
    """
    ranks = network.rank_count
    reach = max(1, min(ranks - 1, _MOST_PAIRS // ranks))
    pairs = [(rank, (rank + shift) % ranks) for shift in range(1, reach + 1) for rank in range(ranks)]
    links = network.links
    ways = {
        pair: path
        for pair, path in paths_between(network, pairs).items()
        if all(links["dst"][link] >= ranks for link in path[:-1])
    }
    busy: list[set[int]] = []
    rows = []
    for chunk, ((src, dst), path) in enumerate(ways.items()):
        step = next((step for step, taken in enumerate(busy) if not taken & set(path)), len(busy))
        if step == len(busy):
            busy.append(set())
        busy[step] |= set(path)
        rows.append((step, src, dst, chunk, False))
    before = [(src, chunk) for _, src, _, chunk, _ in rows]
    after = [(dst, chunk) for _, _, dst, chunk, _ in rows]
    return Schedule.from_transfers(Collective.custom(ranks, len(rows), before, after), sorted(rows))
