"""Schedules by name that are made for late or slow ranks, as the command line's --late and --slow say who that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.candidates import Task, candidates
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.port_speed import PortSpeed, port_speed
from hemiola.topology_candidates import made_for_topology

_Maker = Callable[[int, dict[int, float], float, int], Schedule]

_OPTION = {"late": "--late 7=50ms", "slow": "--slow 0=2"}
#: What relative latencies are at least: of a network without latency, or of no bytes.
_LEAST_RELATIVE_LATENCY = 1e-9


def need_of(name: str) -> str:
    """Return "late" or "slow" for the name of an algorithm that must know such ranks, else an empty string."""
    return next((need for need in _OPTION if name in algorithms.names(needs=need)), "")


def make(name: str, topology: Topology | None, nbytes: int, conditions: Conditions, root: int) -> Schedule:
    """Make the named algorithm's schedule for the conditions, in as many segments or chunks as its own default or the
    planner would.

    Raises
    ------
    ArgumentError
        No topology or no such ranks are given, or the algorithm does not run under these conditions.
    """
    need = need_of(name)
    if topology is None:
        raise ArgumentError(
            f"'{name}' is made for {need} ranks of a network: see it with hemiola simulate {name} cluster.yaml 64MiB "
            f"{_OPTION[need]}, or write hemiola.algorithms.{name}(…) to a file with save()"
        )
    given: Mapping[int, float] = conditions.late if need == "late" else conditions.slow
    if not given:
        raise ArgumentError(f"'{name}' is made for {need} ranks; say which: {_OPTION[need]}")
    kind = algorithms.get(name).kind
    speed = port_speed(topology)
    if direct := _MAKERS.get(name):
        return direct(topology.rank_count, dict(conditions.slow), _relative_latency(speed, nbytes), root)
    task = Task(kind, topology.rank_count, nbytes, port_speed(topology, conditions), conditions, root)
    for candidate in (*candidates(task), *made_for_topology(topology, task, 0.0)):
        if candidate.name == name:
            return candidate.generate()
    ranks = ", ".join(map(str, sorted(given)))
    raise ArgumentError(
        f"'{name}' does not run on this topology with {need} ranks {ranks}; docs/algorithms.md says what it is for, "
        f"hemiola.algorithms.{name} what it takes"
    )


def _relative_latency(speed: PortSpeed, nbytes: int) -> float:
    return max(_LEAST_RELATIVE_LATENCY, speed.latency_s * speed.bandwidth / max(nbytes, 1))


def _all_reduce(make_one: Callable[..., Schedule]) -> _Maker:
    return lambda n, slow, latency, _: make_one(n, slow, relative_latency=latency)


#: By rank count, factors, relative latency and root: those that need no hosts.
_MAKERS: dict[str, _Maker] = {
    **{
        f"all_reduce_{pattern}": _all_reduce(make_one)
        for pattern, make_one in (
            ("weighted_exchange", algorithms.all_reduce_weighted_exchange),
            ("open_shop_exchange", algorithms.all_reduce_open_shop_exchange),
            ("paced_exchange", algorithms.all_reduce_paced_exchange),
            ("optcc", algorithms.all_reduce_optcc),
        )
    },
    "broadcast_weighted_exchange": lambda n, slow, latency, root: algorithms.broadcast_weighted_exchange(
        n, slow, root=root, relative_latency=latency
    ),
    "reduce_scatter_weighted_exchange": lambda n, slow, *_: algorithms.reduce_scatter_weighted_exchange(
        n, slow
    ),
    "all_gather_weighted_exchange": lambda n, slow, *_: algorithms.all_gather_weighted_exchange(n, slow),
}
