# SPDX-License-Identifier: Apache-2.0
"""NICs by name: the links that they carry, and the effect of a slow one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.conditions import NIC_KEY, Conditions
from hemiola.errors import ArgumentError

#: Longer lists of names are cut.
_NAMES_SHOWN = 16


def nics_of_links(topology: Topology) -> dict[int, list[str]]:
    """Return the NICs of every link that has any, as HOST/NAME; a cable between two NICs is in both."""
    found: dict[int, list[str]] = {}
    for name, host, links in topology.nics:
        for link in links:
            found.setdefault(link, []).append(f"{host}/{name}")
    return found


def nics_in_words(topology: Topology) -> str:
    """Say how NICs are called: the names of a host where all hosts have the same ones, else all; empty without any."""
    of_host: dict[int, list[str]] = {}
    for name, host, _ in topology.nics:
        of_host.setdefault(host, []).append(name)
    alike = list(of_host.values())
    if len(alike) == topology.node_count and all(names == alike[0] for names in alike):
        return f"{'each host' if len(alike) > 1 else 'the host'}: {_shortened(alike[0])}"
    return _shortened([f"{host}/{name}" for name, host, _ in topology.nics])


def _shortened(names: list[str]) -> str:
    return ", ".join([*names[:_NAMES_SHOWN], *(["…"] if len(names) > _NAMES_SHOWN else [])])


def slow_links(topology: Topology, slow: Mapping[str, float]) -> dict[tuple[int, int], float]:
    """Return by how much links (src, dst) are slower where NICs are, given as keys of `Conditions.slow`."""
    topology.degraded({nic: factor for nic, factor in slow.items()})  # refuses a name that is no NIC of it
    factors = _link_factors(topology, {key.removeprefix(NIC_KEY): factor for key, factor in slow.items()})
    ends = topology.links[["src", "dst"]][factors > 1].tolist()
    return {
        (src, dst): factor for (src, dst), factor in zip(ends, factors[factors > 1].tolist(), strict=True)
    }


def settled(topology: Topology, conditions: Conditions) -> tuple[Topology, Conditions]:
    """Apply conditions to a topology: slow NICs become slower links of it, so that only ranks are left to be slow.

    Dead ones are left out. Where slow NICs are the only ones of their ranks, these count as slow ranks, so that
    schedules for such are used. Returns the same objects where no NIC is named.

    Raises
    ------
    ArgumentError
        A NIC that the topology has not, or that several of its hosts have, or ranks that only dead NICs join to others.
    """
    dead = [name for name, factor in conditions.slow_nics.items() if math.isinf(factor)]
    if dead:
        topology = without_dead(topology, dead)
        alive = {key: each for key, each in conditions.slow.items() if not math.isinf(each)}
        conditions = replace(conditions, slow=alive)
    if not conditions.slow_nics:
        return topology, conditions
    slower = topology.degraded({f"{NIC_KEY}{name}": factor for name, factor in conditions.slow_nics.items()})
    ranks = conditions.slow_ranks
    if not ranks and (ports := _slow_ports(topology, _link_factors(topology, conditions.slow_nics))):
        return topology, replace(conditions, slow=ports)
    return slower, replace(conditions, slow=ranks)


def without_dead(topology: Topology, nics: Iterable[str]) -> Topology:
    """Return it without these NICs; raise ArgumentError where ranks cannot reach each other any more."""
    left = topology.without_nics(list(nics))
    links, vertices = left.links, left.rank_count + left.switch_count
    for near, far in (("src", "dst"), ("dst", "src")):
        reached = np.arange(vertices) == 0
        while (further := links[far][reached[links[near]] & ~reached[links[far]]]).size:
            reached[further] = True
        for rank in np.flatnonzero(~reached[: left.rank_count]):
            raise ArgumentError(
                f"without NICs {_shortened(sorted(nics))} rank {rank} of host {left.nodes[rank]} cannot reach the "
                "others; keep a NIC of each host, or leave out its ranks: Topology.without_ranks"
            )
    return left


def _link_factors(topology: Topology, slow_nics: Mapping[str, float]) -> NDArray[np.float64]:
    """Return by how much each link is slower; between two slow NICs the slower one counts."""
    factors = np.ones(topology.link_count)
    for name, host, links in topology.nics:
        factor = slow_nics.get(name, slow_nics.get(f"{host}/{name}", 1.0))
        factors[links] = np.maximum(factors[links], factor)
    return factors


def _slow_ports(topology: Topology, factors: NDArray[np.float64]) -> dict[int, float]:
    """Return ranks all of whose links are slower by one factor; none unless these are all slow links."""
    links, vertices = topology.links, topology.rank_count + topology.switch_count
    least, most = np.full(vertices, np.inf), np.ones(vertices)
    for end in ("src", "dst"):
        np.minimum.at(least, links[end], factors)
        np.maximum.at(most, links[end], factors)
    is_slow = (least == most) & (most > 1) & (np.arange(vertices) < topology.rank_count)
    if not (is_slow[links["src"]] | is_slow[links["dst"]])[factors > 1].all():
        return {}
    return {int(rank): float(most[rank]) for rank in np.flatnonzero(is_slow)}
