# SPDX-License-Identifier: Apache-2.0
"""Conditions → candidates → cheapest → Plan: which schedule to run for a collective on a topology, and why.

Schedules synthesized for the topology come first; the published candidates are ranked by their cost formulas,
which are cheap and know one port speed only. The best few are then simulated on the topology itself, and the
fastest of those wins. On a network of more than one switch or a link for every pair, formulas decide nothing. There, a
schedule too large to simulate is estimated from the links that its steps use (docs/decisions/0021)."""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hemiola._core import Topology
from hemiola.algorithms import registry
from hemiola.algorithms.block_sizes import MOST_BYTES, SizeTable
from hemiola.algorithms.task import bytes_and_sizes
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.bounds import lower_bound
from hemiola.codecs import Speeds, speeds
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.planner.brought import made_now
from hemiola.planner.budget import IN_SIMULATION, Searches
from hemiola.planner.crowding import crowding_s
from hemiola.planner.far_first import FAR_FIRST
from hemiola.planner.offer import in_switch_offer
from hemiola.planner.on_grid import MULTIPLYING
from hemiola.planner.outcome import Plan, nothing_runs
from hemiola.planner.question import Question, facts_of
from hemiola.planner.race import Race, SparseRace
from hemiola.planner.sources import found
from hemiola.planner.synthesized import ONE_SHOT
from hemiola.progress import ProgressBar
from hemiola.topology.message_costs import messages_are_free, with_message_cost

_MOST_EFFORT = 1_000.0
#: The cost of a message that `Plan.explain` tries where messages are free.
_A_MESSAGE_S = 1e-6


@typed
def plan(
    topology: Topology,
    kind: Kind,
    nbytes: int | SizeTable,
    conditions: Conditions | None = None,
    *,
    root: int = 0,
    network: str = "fluid",
    combine_bandwidth: float = math.inf,
    crowding: float = 0.0,
    shared_message_s: float = 0.0,
    codecs: Speeds | None = None,
    effort: float = 1.0,
    watches_ports: bool = False,
) -> Plan:
    """Choose the schedule for a collective on a topology.

    Parameters
    ----------
    topology : Topology.
    kind : str, a collective such as "all_reduce".
    nbytes : int >= 0, bytes of one rank's buffer (of the gathered one, for all_gather and gather). Of an all_to_all
        whose blocks differ: their sizes, an array of int >= 0 of shape (ranks, ranks) by sender and receiver.
    conditions : Conditions, optional; ranks that are late or slow, NICs that are slow, the density of the data.
    root : int, 0 … rank_count-1, for rooted collectives.
    network : "fluid" or "fifo", the network model of the simulation.
    combine_bandwidth : float > 0, bytes per second at which a rank adds arriving elements to its own; infinite where
        the network is the bottleneck. Ranks that share memory are as fast at moving as at adding.
    crowding : float >= 0, the share of their time by which bytes take longer for each further rank that sends to the
        same one in the same step; a fifth of it for each that does so in any step. 0 where flows share a port without
        loss; between hosts, over TCP, 0.02 was measured.
    shared_message_s : float >= 0, seconds that every message takes beside its links' time, whatever other ranks do
        meanwhile: where ranks share a machine's cores. 0 where links know all.
    codecs : hemiola.codecs.Speeds, optional; of the core that each rank has to encode and decode. None: as measured on
        this machine. Only where there is a density.
    effort : float, above 0 and at most 1,000; how many times as much as usual may be made and simulated. That is
        counted in operations, so that the same call gives the same plan on every machine.
    watches_ports : bool, whether ranks are to tell from the messages how fast ports are, as communicators do: those of
        exchanges for slow ranks are then no shorter than that takes.

    Returns
    -------
    Plan, the same one for the same arguments in every process; of equal times the one with fewest transfers wins.

    Raises
    ------
    ArgumentError
        for a collective, root, size, network or condition that does not exist or fit, for a topology on which no known
        algorithm can run, and where a registered algorithm makes a wrong schedule.

    Notes
    -----
    Simulations take about a second at most, for any number of ranks; making the schedules comes on top. A candidate
    that is too large for the rest of that second is not simulated; where one switch joins all ranks, or every two have
    a link, and that is the best one by formula, the formulas decide alone. On all other networks such a candidate is
    estimated: step by step, by the time of the busiest link of each. There, schedules synthesized for the topology are
    among the candidates, as far as the budget of the plan goes, which counts small operations. Their
    formula is the lower bound; once a simulated one is within 1 % of it, those that need a long search are not made.
    Nor are more chunks where the last number was no faster than the one before, unless they are cheap to search for.
    Where schedules around one late rank come near enough, larger ones that know of no late rank are left out.
    `Plan.left_out` and `Plan.explain` name everything left out, with the reason. A progress bar appears on a terminal
    once a second has passed, elsewhere a line every 30 s.

    With a density all candidates are simulated once more with zeros left out. Messages leave them out where a core
    encodes and decodes at 1.5 times a link's bandwidth at least, in every phase, and that saves 3 % of the time.
    """
    told = conditions or Conditions()
    size, sizes = bytes_and_sizes(nbytes, kind, topology.rank_count)
    _check(topology, size, network, combine_bandwidth, crowding, shared_message_s, effort)
    dense = told if told.density == 1 else replace(told, density=1.0)
    most = round(Searches(effort).share("simulated") / IN_SIMULATION["fluid"])
    entries = tuple(registry.ENTRIES.values())
    asked = {"network": network, "crowding": crowding, "codecs": codecs, "effort": effort, "root": root}
    again = partial(
        _plan_with_message_cost, topology, kind, nbytes, told, watches_ports=watches_ports, **asked
    )
    launch_s, raced_on = topology.launch_s, _as_raced(topology)
    facts = facts_of(raced_on, kind, size, dense, root, shared_message_s, most, sizes, entries)
    task, bound = facts.task, facts.bound
    with ProgressBar("planning") as bar:
        # Cores that add have costs a message, too; unless the links say which, none are made on purpose.
        is_network_alone = math.isinf(combine_bandwidth)
        question = Question(
            task,
            facts.topology,
            bound.seconds,
            Searches(effort, bar),
            facts.known,
            facts.traits,
            facts.levelled,
            messages_are_told=is_network_alone or task.speed.message_s > 0,
            may_be_short=is_network_alone and not watches_ports,
            links_decide=is_network_alone and crowding == shared_message_s == 0 and told.density == 1,
            is_fluid=network == "fluid",
        )
        racing, left_out = found(question)
        if not racing:
            raise nothing_runs(kind, topology.rank_count)
        sharing = partial(crowding_s, nbytes=size, bandwidth=task.speed.bandwidth, crowding=crowding)
        race = Race(question, network, combine_bandwidth, sharing if crowding else None)
        alternatives, chosen = race.race(racing)
        bar.at(1.0)
        coded = None
        if told.density < 1:
            sparse = SparseRace(question, told.density, network, codecs or speeds())
            # Programs with scratch slots are plain; and coded ones are simulated, which over many hops takes minutes.
            can_be_coded = [one for one in racing if one.name not in (ONE_SHOT, MULTIPLYING, FAR_FIRST)]
            coded, coded_alternatives, coded_chosen = sparse.compare(kind, can_be_coded, alternatives[0])
            bound = lower_bound(question.topology, kind, nbytes, conditions=sparse.conditions, root=root)
            if coded.is_coded:
                alternatives, chosen = coded_alternatives, coded_chosen
    return Plan(
        kind,
        size,
        topology.rank_count,
        topology.name,
        told,
        network,
        bound.after_launch(launch_s) if launch_s else bound,
        task.speed,
        tuple(one.after_launch(launch_s) for one in alternatives) if launch_s else alternatives,
        made_now(chosen) if chosen.name in facts.brought else chosen,
        coded,
        (*left_out, *race.left_out),
        launch_s=launch_s,
        if_messages_cost=again if is_network_alone and shared_message_s == 0 else None,
        find_in_switch=None
        if raced_on is topology
        else partial(in_switch_offer, topology, kind, size, told, root),
        sizes=sizes,
        topology=question.topology,
    )


def _as_raced(topology: Topology) -> Topology:
    """Return it as schedules race on it: all of them pay for the launch, and ranks have switches only forward."""
    if topology.launch_s or topology.reduces or topology.multicasts:
        return topology.replaced(launch_s=0.0, reduces=[], multicasts=[])
    return topology


def _plan_with_message_cost(
    topology: Topology, kind: Kind, nbytes: int | SizeTable, conditions: Conditions, **asked: Any
) -> Plan | None:
    """Plan where each message costs a microsecond; nothing where messages have a cost already, or none is sent."""
    if topology.rank_count == 1 or not np.any(nbytes) or not messages_are_free(topology):
        return None
    return plan(with_message_cost(topology, _A_MESSAGE_S), kind, nbytes, conditions, **asked)


def _check(
    topology: Topology,
    nbytes: int,
    network: str,
    combine_bandwidth: float,
    crowding: float,
    shared_message_s: float,
    effort: float,
) -> None:
    if not isinstance(topology, Topology):
        raise ArgumentError(f"expected a Topology, found {type(topology).__name__}")
    try:
        size = operator.index(nbytes)
    except TypeError:
        raise ArgumentError(f"expected a whole number of bytes, found {nbytes!r}") from None
    if not 0 <= size <= MOST_BYTES:
        raise ArgumentError(f"expected a buffer of 0 … {MOST_BYTES} bytes, found {size}")
    if network not in IN_SIMULATION:
        raise ArgumentError(f"expected the network 'fluid' or 'fifo', found '{network}'")
    if not combine_bandwidth > 0:
        raise ArgumentError(
            f"expected a combine_bandwidth above 0 bytes per second, found {combine_bandwidth}"
        )
    if not 0 <= crowding < math.inf:
        raise ArgumentError(f"expected a crowding of at least 0, found {crowding}")
    if not 0 <= shared_message_s < math.inf:
        raise ArgumentError(f"expected a shared_message_s of at least 0 seconds, found {shared_message_s}")
    if not 0 < effort <= _MOST_EFFORT:
        raise ArgumentError(f"expected an effort above 0 and at most {_MOST_EFFORT:g}, found {effort}")
