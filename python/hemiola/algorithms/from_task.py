# SPDX-License-Identifier: Apache-2.0
"""A task's values for the parameters that algorithms have, by the parameters' names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hemiola.algorithms.task import Task
from hemiola.errors import ArgumentError
from hemiola.topology.grid_of import Grid


def arguments_from(task: Task, parameters: Iterable[str]) -> dict[str, Any]:
    """Return the task's values for those of the parameters that it knows.

    Raises
    ------
    ArgumentError
        A parameter is about late ranks, slow ranks, slow hosts or a topology, and the task has none of the kind.
    """
    named = list(parameters)
    sources = {**_SOURCES, **(_GRID if "dims" in named else {})}
    return {name: sources[name](task) for name in named if name in sources}


def _late_rank(task: Task) -> int:
    late = task.late_ranks
    if len(late) != 1:
        raise ArgumentError(f"expected one late rank, found {len(late)}")
    return late[0]


def _late_ranks(task: Task) -> list[int]:
    if not task.late_ranks:
        raise ArgumentError("expected late ranks, found none")
    return task.late_ranks


def _slow(task: Task) -> dict[int, float]:
    if not task.conditions.slow_ranks:
        raise ArgumentError("expected slow ranks, found none")
    return task.conditions.slow_ranks


def _topology(task: Task) -> Any:
    if task.topology is None:
        raise ArgumentError("expected a topology, found none")
    return task.topology


def _ranks_per_node(task: Task) -> int | list[int]:
    counts = task.ranks_per_node
    return counts[0] if len(set(counts)) == 1 else counts


def _node_of_rank(task: Task) -> list[int] | None:
    """Return the node of each rank where ranks are not numbered node by node."""
    nodes = task.nodes
    return None if bool((nodes[1:] >= nodes[:-1]).all()) else nodes.tolist()


def _slow_hosts(task: Task) -> dict[int, float]:
    _topology(task)
    slow, _ = task.slow_hosts
    if not slow:
        raise ArgumentError(
            "expected hosts of several ranks each, numbered host by host, some with slower NICs than others"
        )
    return slow


def _nic_rates(task: Task) -> dict[int, float]:
    _topology(task)
    if not task.nic_rates:
        raise ArgumentError(
            "expected hosts of as many ranks each, numbered host by host, some ranks with slower NICs than others"
        )
    return task.nic_rates


def _grid(task: Task) -> Grid:
    _topology(task)
    if task.grid is None:
        raise ArgumentError(
            "expected a grid of up to four dimensions of lines, rings, all pairs or switches, each with links alike"
        )
    return task.grid


#: Parameters that have one meaning in all algorithms.
_SOURCES: dict[str, Callable[[Task], Any]] = {
    "rank_count": lambda task: task.rank_count,
    "root": lambda task: task.root,
    "nbytes": lambda task: task.nbytes,
    "latency_s": lambda task: task.speed.latency_s,
    "bandwidth": lambda task: task.speed.bandwidth,
    "relative_latency": lambda task: task.relative_latency,
    "late_rank": _late_rank,
    "late_ranks": _late_ranks,
    "slow": _slow,
    "topology": _topology,
    "slow_hosts": _slow_hosts,
    "host_count": lambda task: task.rank_count // task.slow_hosts[1],
    "ranks_per_host": lambda task: task.slow_hosts[1],
    "nic_rates": _nic_rates,
    "nodes": lambda task: len(task.ranks_per_node),
    "ranks_per_node": _ranks_per_node,
    "groups": lambda task: task.core.group_count if task.core.group_count > 1 else None,
    "nics": lambda task: task.core.nic_count,
    "node_of_rank": _node_of_rank,
}
#: An algorithm with the dimensions of a grid takes latency and bandwidth of these, too.
_GRID: dict[str, Callable[[Task], Any]] = {
    "dims": lambda task: _grid(task).dims,
    "wires": lambda task: _grid(task).wires,
    "latency_s": lambda task: _grid(task).latency_s,
    "bandwidth": lambda task: _grid(task).bandwidth,
}
#: Parameters that only a topology answers.
OF_A_TOPOLOGY = frozenset({"topology", "host_count", "dims", "nodes"})
#: Parameters that a task settles, although they may be left out.
SETTLED = frozenset({"root", "groups", "node_of_rank"})
