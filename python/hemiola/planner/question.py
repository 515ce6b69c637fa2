# SPDX-License-Identifier: Apache-2.0
"""The question of a plan: its task, what is known of it before any schedule is made, and what may decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hemiola._core import Topology
from hemiola.algorithms import Algorithm, Candidate, Task, candidates
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.algorithms.registry import is_brought
from hemiola.arguments.names import Kind
from hemiola.bounds import LowerBound, lower_bound
from hemiola.conditions import Conditions
from hemiola.planner.brought import checked_when_made
from hemiola.planner.budget import Searches
from hemiola.synthesis.full_mesh import is_full_mesh, is_lone_switch
from hemiola.topology.levelled import levelled
from hemiola.topology.message_costs import messages_are_free
from hemiola.topology.named_nics import settled
from hemiola.topology.port_speed import port_speed
from hemiola.topology.slow_ports import with_even_ports


@dataclass(frozen=True)
class Facts:
    """What arguments alone say of a task, whatever was planned before.

    Attributes
    ----------
    task : Task.
    topology : Topology of the task, whose slow NICs and ports are slow links or ranks.
    bound : LowerBound.
    known : the candidates of the registry, cheapest by formula first; those from outside are checked when made.
    brought : names of those from outside.
    traits : what the network and the conditions are, in the words of `traits_of`.
    levelled : the same of the network with its odd cables like the others, once, twice and so on. Schedules of a
        regular network know its shape, which one cable more, or a faster one, hides. `known` are those that are not
        known without.
    """

    task: Task
    topology: Topology
    bound: LowerBound
    known: tuple[Candidate, ...]
    brought: frozenset[str]
    traits: frozenset[str]
    levelled: tuple[Facts, ...] = ()


@lru_cache(maxsize=8)
def facts_of(
    topology: Topology,
    kind: Kind,
    nbytes: int,
    conditions: Conditions,
    root: int,
    shared_message_s: float,
    most_transfers: int,
    sizes: BlockSizes | None,
    algorithms: tuple[Algorithm, ...],
) -> Facts:
    """Find them; those of the latest tasks are kept. `algorithms`: all of the registry."""
    topology, now = with_even_ports(*settled(topology, conditions))
    bound = lower_bound(topology, kind, nbytes if sizes is None else sizes.table, conditions=now, root=root)
    speed = port_speed(topology, now)
    task = Task(
        kind, topology.rank_count, nbytes, speed, now, root, topology, shared_message_s, sizes, most_transfers
    )
    known = candidates(task)
    brought = frozenset(one.name for one in known if is_brought(one.name))
    checked = tuple(
        replace(one, generate=checked_when_made(one)) if one.name in brought else one for one in known
    )
    facts = Facts(task, topology, bound, checked, brought, traits_of(task, topology))
    return replace(facts, levelled=tuple(_levelled(facts)))


def _levelled(facts: Facts) -> Iterator[Facts]:
    names = {(one.name, one.variant) for one in facts.known}
    while (topology := levelled(facts.topology)) is not None:
        speed = port_speed(topology, facts.task.conditions)
        task = replace(facts.task, topology=topology, speed=speed)
        own = (one for one in candidates(task) if not is_brought(one.name))
        more = tuple(one for one in own if (one.name, one.variant) not in names)
        names |= {(one.name, one.variant) for one in more}
        facts = replace(facts, task=task, topology=topology, known=more, traits=traits_of(task, topology))
        yield facts


@dataclass
class Question:
    """What the sources of schedules are asked.

    Attributes
    ----------
    task, topology, known, traits, levelled : as in `Facts`.
    bound_s : float, the lower bound in seconds.
    searches : Searches, the budget.
    messages_are_told : bool, whether it is known what messages cost: only then may sources send more of them.
    may_be_short : bool, whether messages may be shorter than telling ports apart takes.
    links_decide : bool, whether nothing but links counts.
    is_fluid : bool, the model of the network.
    is_enough : bool, set by a source whose schedules come so near the bound that none need be searched for.
    is_around_enough : bool, set where those are around a late rank: large ones that know of none are left out.
    simulating : str, the share of the budget for simulations; a larger one is set where searches are spared.
    least_chunks : int, set by a source beside which fewer chunks are not worth a search.
    """

    task: Task
    topology: Topology
    bound_s: float
    searches: Searches
    known: tuple[Candidate, ...] = ()
    traits: frozenset[str] = frozenset()
    levelled: tuple[Facts, ...] = ()
    messages_are_told: bool = True
    may_be_short: bool = True
    links_decide: bool = True
    is_fluid: bool = True
    is_enough: bool = False
    is_around_enough: bool = False
    simulating: str = "simulated"
    least_chunks: int = 1


def traits_of(task: Task, topology: Topology) -> frozenset[str]:
    """Name what a network and the conditions are.

    Returns
    -------
    Some of these words:
    - "uneven": the ranks are joined neither by one switch alone nor by links of one speed for all pairs;
    - "switch": one switch alone joins them; "full mesh": a link for each pair, all alike; "one hop": either;
    - "several ways": of three ranks or more, not behind one switch alone;
    - "mesh": a grid of lines; "grid": one of two dimensions at least; both of uneven networks, for all-reduces;
    - "hosts": of as many ranks each, at least two, numbered host by host;
    - "dear messages": some link charges for each message;
    - "one late": one rank is late; "slow": some ranks are; "one slow": exactly one is.
    """
    slow = [factor for factor in task.conditions.slow_ranks.values() if factor > 1]
    is_of_several = topology.rank_count >= 3
    is_switch, is_mesh = is_of_several and is_lone_switch(topology), is_of_several and is_full_mesh(topology)
    grid = task.grid if task.kind == "all_reduce" and is_uneven(topology) else None
    counts = task.ranks_per_node
    found = {
        "uneven": is_uneven(topology),
        "switch": is_switch,
        "full mesh": is_mesh,
        "one hop": is_switch or is_mesh,
        "several ways": is_of_several and not is_switch,
        "mesh": grid is not None and all(wires == "line" for wires in grid.wires),
        "grid": grid is not None and sum(size > 1 for size in grid.dims) > 1,
        "hosts": len(counts) > 1 == len(set(counts)) < counts[0] and bool((np.diff(task.nodes) >= 0).all()),
        "dear messages": not messages_are_free(topology),
        "one late": len(task.late_ranks) == 1,
        "slow": bool(slow),
        "one slow": len(slow) == 1,
    }
    return frozenset(word for word, is_so in found.items() if is_so)


@lru_cache(maxsize=8)
def is_uneven(topology: Topology) -> bool:
    """Whether ranks are joined neither by one switch alone nor by a link for each pair, all of one speed."""
    n, links = topology.rank_count, np.asarray(topology.links)
    if n < 3 or len(links) == 0:
        return False
    if topology.switch_count == 0:
        pairs = set(zip(links["src"].tolist(), links["dst"].tolist(), strict=True))
        return len(pairs) < n * (n - 1) or bool((links["bandwidth"] != links["bandwidth"][0]).any())
    return not is_lone_switch(topology)
